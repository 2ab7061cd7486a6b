//! The one thread that writes the counter file.
//!
//! It never holds a lock of the counters or of the inbox while it touches the file, writes what the memory says at the
//! moment of writing (so that no order of events can bring a freed counter back), and takes every fault as a
//! reason to try again later.

mod file;
mod scan;
mod slice;

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use zonai_limit::Moment;

use crate::boot::Epoch;
use crate::fault::Fault;
use crate::inbox::{MAX_SCANS, Why};
use crate::row::Filter;
use crate::shared::Shared;
use file::OpenFile;
use slice::{Batch, write_slice};

/// How a store ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Counters that could not be written.
    pub(crate) unwritten: usize,
    /// Why.
    pub(crate) fault: Option<Fault>,
}

pub(crate) struct Writer {
    shared: Arc<Shared>,
    file: Option<OpenFile>,
    /// The epoch of this run, from the first file that opened.
    epoch: Option<Epoch>,
    /// Whether the stored counters are in memory; from then on the memory is the truth.
    loaded: bool,
    /// Whether all of the memory has to be written again, because what was on the file is lost.
    rewrite: bool,
    /// Whether to write even where nothing changed, to see whether the file takes it.
    probe: bool,
    pause: Duration,
    /// Commits that the disk may not have yet: since when.
    unsynced: Option<Moment>,
}

impl Writer {
    /// Opens the file once, so that stored counters are in force before the first request.
    pub(crate) fn open(shared: Arc<Shared>) -> Self {
        let pause = shared.options.retry.0;
        let mut writer = Self {
            shared,
            file: None,
            epoch: None,
            loaded: false,
            rewrite: false,
            probe: false,
            pause,
            unsynced: None,
        };
        if let Err(fault) = writer.ensure_open() {
            writer.fail(&fault);
            // A damaged file has been moved aside by now: the second attempt makes a new one.
            if fault.loses_rows() {
                match writer.ensure_open() {
                    Ok(()) => writer.probe = true,
                    Err(fault) => writer.fail(&fault),
                }
            }
        }
        writer
    }

    /// Follows the memory until the store is closed, then writes what is left.
    pub(crate) fn run(mut self) -> Ended {
        let mut attempts = 0;
        let mut slices_left = None;
        loop {
            let stopping = self.shared.inbox.lock().stop;
            match self.turn() {
                Ok(worked) => {
                    attempts = 0;
                    if stopping {
                        // Whoever goes on counting while the store is closed does not keep it from closing.
                        let left = slices_left.get_or_insert_with(|| self.slices_to_write());
                        if !worked || *left == 0 {
                            return self.finish();
                        }
                        *left -= 1;
                    } else if !worked {
                        self.shared.wait_for_work(self.shared.options.idle_poll);
                    }
                }
                Err(fault) => {
                    self.fail(&fault);
                    attempts += 1;
                    if stopping && attempts > self.shared.options.close_attempts {
                        return Ended {
                            unwritten: self.shared.backlog(),
                            fault: Some(fault),
                        };
                    }
                    if stopping {
                        std::thread::park_timeout(self.pause.min(Duration::from_millis(100)));
                    } else {
                        self.shared.wait_to_retry(self.pause);
                    }
                    self.pause = self
                        .pause
                        .saturating_mul(2)
                        .min(self.shared.options.retry.1);
                }
            }
        }
    }

    /// One slice, if there is anything to write; whether there was.
    fn turn(&mut self) -> Result<bool, Fault> {
        if let Some(file) = &mut self.file {
            file.check()?;
        }
        self.ensure_open()?;
        let worked = self.slice()?;
        self.sync_if_due()?;
        Ok(worked)
    }

    fn ensure_open(&mut self) -> Result<(), Fault> {
        if self.file.is_some() {
            return Ok(());
        }
        let freed: Vec<Filter> = {
            let inbox = self.shared.inbox.lock();
            inbox.frees.iter().map(|free| free.filter.clone()).collect()
        };
        let opened = OpenFile::open(&self.shared, &mut self.epoch, &mut self.loaded, &freed);
        if self.loaded {
            self.note_loaded(freed.len());
        }
        let file = opened?;
        if file.renamed {
            self.shared
                .inbox
                .lock()
                .scan(Why::Rename(Arc::default()), None);
        }
        if std::mem::take(&mut self.rewrite) {
            self.shared.inbox.lock().scan(Why::Mirror, None);
            self.mark_everything();
        }
        self.probe |= self.shared.inbox.lock().down.is_some();
        self.file = Some(file);
        Ok(())
    }

    /// Frees what was freed while the file was being loaded; from here on the memory is the truth.
    fn note_loaded(&self, known: usize) {
        let mut inbox = self.shared.inbox.lock();
        if std::mem::replace(&mut inbox.loaded, true) {
            return;
        }
        let names = &self.shared.names;
        for free in inbox.frees.iter().skip(known) {
            let _ = self
                .shared
                .counters
                .free(&mut |key| free.filter.matches_key(&**names, key));
        }
    }

    fn slice(&mut self) -> Result<bool, Fault> {
        let (Some(file), Some(epoch)) = (&mut self.file, self.epoch) else {
            return Ok(false);
        };
        let shared = &self.shared;
        let mut batch = Batch::take(shared);
        if batch.is_empty() && !self.probe {
            shared.gauges.in_flight.store(0, SeqCst);
            return Ok(false);
        }
        let begun = shared.clock.now();
        let written = match write_slice(file, shared, epoch, &mut batch) {
            Ok(written) => written,
            Err(error) => {
                let fault = Fault::from(error);
                batch.give_back(shared, &fault);
                return Err(fault);
            }
        };
        let took_ms = shared.clock.now().since(begun);
        let gauges = &shared.gauges;
        gauges.slices.fetch_add(1, Relaxed);
        gauges.rows_written.fetch_add(written, Relaxed);
        gauges.last_commit_ms.store(took_ms, Relaxed);
        file.written();
        self.unsynced.get_or_insert(begun);
        self.pause = shared.options.retry.0;
        self.probe = u128::from(took_ms) > shared.options.commit_timeout.as_millis();
        if self.probe {
            shared.slow();
        } else {
            shared.up();
        }
        batch.done(shared);
        Ok(true)
    }

    /// Brings what was committed to the disk, about once a second.
    fn sync_if_due(&mut self) -> Result<(), Fault> {
        let (Some(since), Some(file)) = (self.unsynced, &mut self.file) else {
            return Ok(());
        };
        if self.shared.clock.now().since(since) >= self.shared.options.sync_ms {
            file.sync()?;
            self.shared.gauges.syncs.fetch_add(1, Relaxed);
            self.unsynced = None;
        }
        Ok(())
    }

    /// Goes on from memory: nobody waits, everything that changed stays changed.
    fn fail(&mut self, fault: &Fault) {
        self.shared.down(fault);
        if fault.keeps_connection() {
            return;
        }
        self.file = None;
        if fault.loses_rows() {
            self.rewrite = true;
        }
        if *fault == Fault::Corrupt {
            match file::move_aside(&self.shared.path) {
                Ok(aside) => {
                    tracing::warn!(path = %aside.display(), "the damaged counter file was moved aside")
                }
                // Said once, by the health; tried again with every attempt.
                Err(error) => {
                    tracing::debug!(%error, "the damaged counter file could not be moved aside");
                }
            }
        }
    }

    /// Marks every counter changed whose window may be open.
    fn mark_everything(&self) {
        let mut keys = Vec::new();
        self.shared.counters.for_each(&mut |key, _| keys.push(key));
        for key in keys {
            self.shared.counters.mark_changed(key);
        }
    }

    fn slices_to_write(&self) -> usize {
        2 * (self.shared.backlog() / self.shared.options.slice.max(1)) + MAX_SCANS
    }

    /// Syncs, and leaves one file without a log beside it.
    fn finish(mut self) -> Ended {
        let unwritten = self.shared.backlog();
        let fault = self.file.take().and_then(|file| file.close().err());
        Ended { unwritten, fault }
    }
}
