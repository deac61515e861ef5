// SPDX-License-Identifier: Apache-2.0
use std::mem::{size_of, MaybeUninit};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crate::log::Logger;
use crate::{as_i32, as_ms, sys, Comm, Context, LogLevel, Result};

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $constant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum $name {
            $($(#[$value_doc])* $value = sys::$constant as i32,)*
        }
    )*};
}
pub(crate) use choices;

choices! {
    /// What the trainer's own reduction does with gradients over its ranks.
    Gradient {
        /// Averages them, as DDP and FSDP do: f = G · A / Z.
        Mean = TOKAVG_GRADIENT_MEAN,
        /// Sums them: f = A / Z.
        Sum = TOKAVG_GRADIENT_SUM,
    }
    /// What Z is, by which losses are divided.
    Divisor {
        /// The number of scored tokens.
        Tokens = TOKAVG_DIVISOR_TOKENS,
        /// The sum of their weights.
        Weights = TOKAVG_DIVISOR_WEIGHTS,
    }
    /// Who moves messages on while the application computes.
    Progress {
        /// A thread where MPI allows it (MPI_THREAD_MULTIPLE), else the caller.
        Auto = TOKAVG_PROGRESS_AUTO,
        /// A thread, or no context.
        Thread = TOKAVG_PROGRESS_THREAD,
        /// The calls of the application: see [`Context::progress`].
        Caller = TOKAVG_PROGRESS_CALLER,
    }
    /// What carries the sums.
    Transport {
        /// What the communicator implies.
        Auto = TOKAVG_TRANSPORT_AUTO,
        /// NCCL, bootstrapped over MPI.
        Nccl = TOKAVG_TRANSPORT_NCCL,
    }
    /// Where labels and losses live.
    Device {
        /// The GPU where one is usable and the transport allows it, else the host.
        Auto = TOKAVG_DEVICE_AUTO,
        /// The host alone.
        Host = TOKAVG_DEVICE_HOST,
        /// The GPU, or no context.
        Cuda = TOKAVG_DEVICE_CUDA,
    }
}

/// What a context is: how its ranks meet, what the trainer does with gradients, and what differs from the defaults.
///
/// All ranks must agree on what the numbers mean; [`init`](Config::init) checks it and names the field that differs.
/// The methods take what the C interface takes, and 0 is the default of each but `ignore_index` and `device_index`.
///
/// ```
/// use std::time::Duration;
/// use tokavg::{Comm, Config, Divisor, Gradient};
/// let ctx = Config::new(Comm::own(), Gradient::Mean)
///     .terms(2)
///     .divisor(Divisor::Weights)
///     .timeout(Duration::from_secs(60))
///     .log(|level, line| eprintln!("{level:?}: {line}"))
///     .init()?;
/// # ctx.finalize()?;
/// # Ok::<(), tokavg::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config<'a> {
    raw: sys::tokavg_config_t,
    comm: Comm<'a>,
    logger: Option<Arc<Logger>>,
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.raw.$name = $name;
            self
        }
    )*};
}

macro_rules! chosen {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.raw.$name = $name as i32;
            self
        }
    )*};
}

impl<'a> Config<'a> {
    /// Defaults for everything else.
    pub fn new(comm: Comm<'a>, gradient: Gradient) -> Config<'a> {
        let mut raw = MaybeUninit::<sys::tokavg_config_t>::zeroed();
        // SAFETY: all zero is valid, and tokavg_config_init writes the defaults over it.
        let mut raw = unsafe {
            sys::tokavg_config_init(raw.as_mut_ptr(), size_of::<sys::tokavg_config_t>() as u32);
            raw.assume_init()
        };
        raw.gradient_reduction = gradient as i32;
        Config { raw, comm, logger: None }
    }

    numbers! {
        /// G, the ranks that the trainer averages over; by default those that hold labels, each copy once.
        gradient_ranks: i32;
        /// Ranks that hold parts of one microbatch (context parallel).
        microbatch_shards: i32;
        /// A, by which the trainer itself divides for accumulation.
        accumulation_divisor: f64;
        /// The label that is not scored; -100 unless set.
        ignore_index: i64;
        /// Reduced steps that stay readable, 2 to 16.
        in_flight: i32;
        /// Threads of the host kernels, 1 to 1024. No result depends on it.
        host_threads: i32;
        /// The CUDA device; by default the current one.
        device_index: i32;
    }

    chosen! {
        /// What losses are divided by.
        divisor: Divisor;
        /// Who moves messages on.
        progress: Progress;
        /// What carries the sums.
        transport: Transport;
        /// Where labels and losses live.
        device: Device;
    }

    /// The number of terms of the loss, 1 to 8, each with its own divisor.
    pub fn terms(mut self, terms: usize) -> Self {
        self.raw.terms = as_i32(terms);
        self
    }

    /// `copies` ranks hold the same labels (tensor parallel), and this one is number `index` of them; 0 alone counts.
    pub fn label_copies(mut self, copies: i32, index: i32) -> Self {
        self.raw.label_copies = copies;
        self.raw.label_copy_index = index;
        self
    }

    /// This rank holds no labels and only needs the results (a pipeline stage before the last).
    pub fn asks_only(mut self, asks_only: bool) -> Self {
        self.raw.asks_only = i32::from(asks_only);
        self
    }

    /// The deadline of every wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.raw.timeout_ms = as_ms(timeout).max(1);
        self
    }

    /// How long a wait takes before a log line says so.
    pub fn warn_after(mut self, wait: Duration) -> Self {
        self.raw.warn_ms = as_ms(wait).max(1);
        self
    }

    /// Ignores the TOKAVG_ environment variables.
    pub fn no_env(mut self) -> Self {
        self.raw.flags |= sys::TOKAVG_CONFIG_NO_ENV;
        self
    }

    /// Splits the lent `ncclComm_t` instead of using it.
    pub fn nccl_own(mut self) -> Self {
        self.raw.flags |= sys::TOKAVG_CONFIG_NCCL_OWN;
        self
    }

    /// Receives log lines, inside calls, on the calling thread. Calls on the context from within are refused, and a panic
    /// ends there.
    pub fn log(mut self, sink: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.logger = Some(Arc::new(Logger::new(sink)));
        self
    }

    /// Makes the context. Collective: it returns when all ranks have called it, at most after the timeout.
    pub fn init(&self) -> Result<Context> {
        let mut config = self.raw;
        self.comm.write(&mut config);
        if let Some(logger) = &self.logger {
            logger.write(&mut config);
        }
        let mut raw = ptr::null_mut();
        // SAFETY: what config points to lives in self; the context keeps the logger.
        let status = unsafe { sys::tokavg_init(&config, &mut raw) };
        Context::made(status, raw, config.terms.max(1) as usize, self.logger.clone())
    }
}
