//! The run: rounds of all clients at once, and between and within them what happens to the program.
//!
//! Must never change policies or the clock while requests are under way: that is what makes the model exact.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use zonai_clock::Clock;

use super::client::Client;
use super::counter::{Counter, Span};
use super::deck::{DECK, Deck, Event};
use super::dice::Dice;
use super::disk::{Disk, check_databases};
use super::judge::Round;
use super::limits::{Key, Limits};
use super::project::project;
use super::proxy::Proxy;
use super::server::{Server, clock_can_be_moved, own_address};
use super::wire::Time;
use crate::run::Folder;

pub(super) const CLIENTS: u64 = 4;
/// The server's clock jumps by so many seconds while it is down: to within windows, and past them.
const JUMPS: [u64; 7] = [0, 0, 0, 1, 90, 5_000, 40 * 86_400];

pub(super) struct Run {
    seed: u64,
    dice: Dice,
    number: u64,
    event: Event,
    limits: Limits,
    time: Time,
    clients: Vec<Client>,
    address: SocketAddr,
    moves_clock: bool,
    // In this order they end: the server before its disk, the disk before its folder.
    proxy: Option<Proxy>,
    server: Option<Server>,
    disk: Option<Disk>,
    folder: Folder,
    answers: AtomicU64,
    slowest_change: u64,
    /// The table whose limits became others, until a round has looked at them.
    changed: Option<&'static str>,
    deck: Deck,
    happened: Vec<Event>,
}

impl Run {
    pub(super) fn start(seed: u64, clock: Clock) -> Self {
        let mut dice = Dice::new(seed);
        let folder = project();
        let limits = Limits::write_first(&folder, &mut dice);
        let disk = Disk::mount(&folder.path().join(".zonai/data"));
        let address = own_address(seed);
        let server = Server::start(&folder, address, 0).unwrap_or_else(|fault| panic!("{fault}"));
        let front = own_address(seed);
        Self {
            seed,
            dice,
            number: 0,
            event: Event::Nothing,
            limits,
            time: Time { clock, ahead_ms: 0 },
            clients: (0..CLIENTS).map(|who| Client::new(seed, who)).collect(),
            address,
            moves_clock: clock_can_be_moved(),
            proxy: Proxy::start(front, address),
            server: Some(server),
            disk,
            folder,
            answers: AtomicU64::new(0),
            slowest_change: 0,
            changed: None,
            deck: Deck::default(),
            happened: Vec::new(),
        }
    }

    /// What led to here.
    pub(super) fn told(&self) -> String {
        let times = |event: Event| self.happened.iter().filter(|one| **one == event).count();
        let each: Vec<String> = DECK
            .iter()
            .map(|(_, event)| format!("{event:?} {}", times(*event)))
            .collect();
        format!(
            "ZONAI_CHAOS_SEED={} round {} ({:?}), {} answers, {}; slowest change of policies {} ms",
            self.seed,
            self.number,
            self.event,
            self.answers.load(Ordering::Relaxed),
            each.join(", "),
            self.slowest_change
        )
    }

    pub(super) fn log(&self) -> String {
        self.server.as_ref().map(Server::tail).unwrap_or_default()
    }

    /// One round, with what happens in it.
    pub(super) fn round(&mut self) -> Result<(), String> {
        self.number += 1;
        self.event = self.deck.draw(&mut self.dice);
        self.happened.push(self.event);
        match self.event {
            Event::Nothing => self.play(None, false)?,
            Event::Policies => self.change_policies()?,
            Event::FaultyPolicies => self.faulty_policies()?,
            Event::Sweep => {
                self.server()?.ask_job("_delete_old_rate_limits")?;
                self.play(None, false)?;
            }
            Event::Kill | Event::KillAmongCommits => self.kill(true, false)?,
            Event::KillAtRest => {
                self.play(None, false)?;
                self.settle()?;
                self.kill(false, false)?;
            }
            Event::Stop => {
                self.play(None, false)?;
                self.stop()?;
                self.again()?;
            }
            Event::ProxyKilled => {
                self.play(Some(Victim::Proxy), false)?;
                if let Some(proxy) = &mut self.proxy {
                    proxy.again();
                }
                self.hang_up();
            }
            Event::DiskFull => {
                self.with_disk(Disk::fill);
                self.play(None, true)?;
                self.with_disk(Disk::make_room);
            }
            Event::DiskFullKill => {
                self.with_disk(Disk::fill);
                self.kill(true, true)?;
            }
        }
        self.settle()?;
        self.audit()
    }

    /// Stops well, and looks at everything once more.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.stop()?;
        self.again()?;
        self.audit()?;
        self.stop()?;
        println!("{}", self.told());
        Ok(())
    }

    fn server(&self) -> Result<&Server, String> {
        self.server
            .as_ref()
            .ok_or_else(|| "there is no server".to_owned())
    }

    fn with_disk(&self, change: fn(&Disk)) {
        self.disk.iter().for_each(change);
    }

    fn each(&mut self, mut change: impl FnMut(&Key, &mut Counter)) {
        for address in self
            .clients
            .iter_mut()
            .flat_map(|client| &mut client.addresses)
        {
            address.each(&mut change);
        }
    }

    fn hang_up(&mut self) {
        self.clients.iter_mut().for_each(Client::hang_up);
    }

    /// All clients at once; and where something is to be killed, it is after so many answers.
    fn play(&mut self, victim: Option<Victim>, disk_is_full: bool) -> Result<(), String> {
        let kill_after = self.answers.load(Ordering::Relaxed) + self.dice.below(1_500);
        let doors =
            std::iter::once(self.address).chain(self.proxy.as_ref().map(|proxy| proxy.address));
        let round = Round {
            number: self.number,
            limits: &self.limits,
            time: self.time.clone(),
            doors: doors.collect(),
            answers: &self.answers,
            may_be_lost: victim.is_some(),
            disk_is_full: disk_is_full && self.disk.is_some(),
            only_commits: self.event == Event::KillAmongCommits,
            changed: self.changed.take(),
        };
        let done = AtomicUsize::new(0);
        let (round, done) = (&round, &done);
        let all = self.clients.len();
        std::thread::scope(|scope| {
            let playing: Vec<_> = self
                .clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(move || {
                        let played = client.play(round);
                        done.fetch_add(1, Ordering::SeqCst);
                        played
                    })
                })
                .collect();
            while victim.is_some()
                && done.load(Ordering::SeqCst) < all
                && round.answers.load(Ordering::Relaxed) < kill_after
            {
                std::thread::park_timeout(Duration::from_micros(200));
            }
            match victim {
                Some(Victim::Server) => self.server.iter_mut().for_each(Server::kill),
                Some(Victim::Proxy) => self.proxy.iter_mut().for_each(Proxy::kill),
                None => {}
            }
            playing
                .into_iter()
                .try_for_each(|client| client.join().expect("a client panicked"))
        })
    }

    /// `kill -9` among requests or at rest; the server comes back, perhaps later than it seems.
    fn kill(&mut self, among_requests: bool, disk_is_full: bool) -> Result<(), String> {
        if among_requests {
            self.play(Some(Victim::Server), disk_is_full)?;
        } else {
            self.server.iter_mut().for_each(Server::kill);
        }
        let server = self.server.take().ok_or("there is no server")?;
        let in_memory = server.ended()?;
        self.each(|key, counter| counter.killed(key.durable() && !in_memory));
        if disk_is_full && self.dice.percent(50) {
            // It comes back where there is no room either: what was stored counts all the same.
            self.start_again()?;
            self.play(None, true)?;
            self.with_disk(Disk::make_room);
            return Ok(());
        }
        self.with_disk(Disk::make_room);
        self.again()
    }

    fn stop(&mut self) -> Result<(), String> {
        self.server.take().ok_or("there is no server")?.stop()?;
        self.each(|_, counter| counter.stopped());
        Ok(())
    }

    fn again(&mut self) -> Result<(), String> {
        check_databases(&self.folder.path().join(".zonai/data"))?;
        self.start_again()
    }

    fn start_again(&mut self) -> Result<(), String> {
        self.hang_up();
        self.clients
            .iter_mut()
            .for_each(|client| client.restarted = true);
        if self.moves_clock {
            self.time.ahead_ms += 1_000 * self.dice.pick(&JUMPS);
        }
        let server = Server::start(&self.folder, self.address, self.time.ahead_ms / 1_000)?;
        self.server = Some(server);
        Ok(())
    }

    /// Waits until the counter file shows everything.
    fn settle(&mut self) -> Result<(), String> {
        let server = self.server()?;
        server.until("the counter file to follow", |status| {
            status["backlog"] == 0
        })?;
        server.until_healthy(self.address)?;
        let _ = server.was_in_memory();
        self.each(|_, counter| counter.settle());
        Ok(())
    }

    fn audit(&mut self) -> Result<(), String> {
        let round = Round {
            number: self.number,
            limits: &self.limits,
            time: self.time.clone(),
            doors: vec![self.address],
            answers: &self.answers,
            may_be_lost: false,
            disk_is_full: false,
            only_commits: false,
            changed: None,
        };
        self.clients
            .iter_mut()
            .try_for_each(|client| client.audit(&round))
    }

    fn change_policies(&mut self) -> Result<(), String> {
        let before = self.limits.clone();
        let server = self.server.as_ref().ok_or("there is no server")?;
        let version = server.policy_version()?;
        let from = self.time.now();
        self.changed = Some(self.limits.change(&self.folder, &mut self.dice));
        if self.dice.percent(50) {
            server.ask_reload()?;
        }
        server.until("the new policies", |status| {
            status["policies"]["version"] != version
        })?;
        let at = Span {
            from,
            to: self.time.now(),
        };
        self.slowest_change = self.slowest_change.max(at.to - at.from);
        let after = self.limits.clone();
        self.each(|key, counter| {
            if before.get(*key) != after.get(*key) {
                counter.change(at, before.get(*key), after.get(*key));
            }
        });
        self.play(None, false)
    }

    /// A file that does not pass leaves in force what was.
    fn faulty_policies(&mut self) -> Result<(), String> {
        let path = self.folder.write(
            "lib/src/rate_limit/faulty.yaml",
            "table: ledgre\nlimits:\n  create: 1/1h\n",
        );
        let faults = |count: usize| {
            move |status: &serde_json::Value| {
                status["policies"]["faults"]
                    .as_array()
                    .is_some_and(|all| all.len() == count)
            }
        };
        self.server()?.until("the fault to be told", faults(1))?;
        self.play(None, false)?;
        std::fs::remove_file(path).unwrap();
        self.server()?
            .until("the fault to be gone", faults(0))
            .map(drop)
    }
}

#[derive(Clone, Copy)]
enum Victim {
    Server,
    Proxy,
}
