//! A server's worth of limiter, clock and store, that can be stopped, killed and started again.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use zonai_clock::{Clock, Hand};
use zonai_limit::{
    Accounts, Ask, Bucket, Client, Counters, CustomNames, Ipv6Prefix, Kind, Known, KnownTable,
    Limit, Limiter, Mode, Operation, Origin, RateLimitPolicy, Refusal, Registration, TableLimits,
    Verdict,
};

use crate::{Home, Store};

pub(crate) const WINDOW_MS: u64 = 60_000;

pub(crate) struct Scene<'h, H: Home> {
    home: &'h H,
    pub(crate) clock: Clock,
    pub(crate) hand: Hand,
    pub(crate) limiter: Arc<Limiter>,
    store: Option<H::Store>,
    max: usize,
    policy: Option<RateLimitPolicy>,
}

impl<'h, H: Home> Scene<'h, H> {
    /// `create` on `items` is limited to `max` a minute, `signIn` on `users` too; room for 10,000 counters.
    pub(crate) fn new(home: &'h H, max: u32) -> Self {
        Self::with_room(home, max, 10_000)
    }

    pub(crate) fn with_room(home: &'h H, max: u32, room: usize) -> Self {
        let (clock, hand) = Clock::manual();
        let policy = Some(policy(max, WINDOW_MS));
        let limiter = limiter(room, policy);
        let store = Some(home.open(Arc::clone(&limiter), clock.clone()));
        Self {
            home,
            clock,
            hand,
            limiter,
            store,
            max: room,
            policy,
        }
    }

    pub(crate) fn store(&self) -> &H::Store {
        self.store.as_ref().expect("the store is open")
    }

    /// Stops cleanly and starts again.
    pub(crate) fn restart(&mut self) {
        self.store.take().expect("the store is open").stop();
        self.start();
    }

    /// Kills and starts again.
    pub(crate) fn kill(&mut self) {
        self.store.take().expect("the store is open").kill();
        self.start();
    }

    /// Stops, lets `between` happen, and starts again.
    pub(crate) fn restart_after(&mut self, between: impl FnOnce(&Hand)) {
        self.store.take().expect("the store is open").stop();
        between(&self.hand);
        self.start();
    }

    fn start(&mut self) {
        self.limiter = limiter(self.max, self.policy);
        self.store = Some(
            self.home
                .open(Arc::clone(&self.limiter), self.clock.clone()),
        );
    }

    /// Another limit from the next start on.
    pub(crate) fn next_policy(&mut self, policy: RateLimitPolicy) {
        self.policy = Some(policy);
    }

    /// Another limit now; `None` for no limit.
    pub(crate) fn set_policy(&mut self, policy: Option<RateLimitPolicy>) {
        self.policy = policy;
        self.limiter
            .replace(self.clock.now(), registrations(policy), Vec::new())
            .expect("a valid configuration");
        self.store().policies_changed();
    }

    pub(crate) fn ask(&self, client: Client) -> Verdict {
        let items = self.limiter.table("items").expect("the table");
        let ask = Ask::new(Bucket::Table(items), &[Operation::Create]);
        self.limiter
            .check_now(self.clock.now(), client, &ask)
            .expect("a policy that never changes")
    }

    /// How many of `tries` creates are admitted.
    pub(crate) fn creates(&self, client: Client, tries: u32) -> u32 {
        (0..tries)
            .filter(|_| matches!(self.ask(client), Verdict::Admitted(_)))
            .count() as u32
    }

    pub(crate) fn refusal(&self, client: Client) -> Refusal {
        match self.ask(client) {
            Verdict::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// Sign-ins, each committed before it goes on.
    pub(crate) fn sign_ins(&self, client: Client, tries: u32) -> u32 {
        let users = self.limiter.table("users").expect("the table");
        let operations = [Operation::SignIn, Operation::Authenticate];
        let ask = Ask::new(Bucket::Table(users), &operations);
        (0..tries)
            .filter(
                |_| match self.limiter.check_now(self.clock.now(), client, &ask) {
                    Some(Verdict::Admitted(admitted)) => {
                        assert_eq!(
                            admitted.durable().len(),
                            2,
                            "both counters are to be committed"
                        );
                        self.store().commit(admitted.durable());
                        true
                    }
                    _ => false,
                },
            )
            .count() as u32
    }
}

pub(crate) fn policy(max: u32, window_ms: u64) -> RateLimitPolicy {
    RateLimitPolicy::new(max, Duration::from_millis(window_ms)).expect("a valid policy")
}

/// The client `10.a.b.c` of a number.
pub(crate) fn client(number: u32) -> Client {
    Client::from_ip(
        Ipv4Addr::from_bits(0x0a00_0000 + number).into(),
        Ipv6Prefix::DEFAULT,
    )
}

fn limiter(room: usize, policy: Option<RateLimitPolicy>) -> Arc<Limiter> {
    let table = |name: &str, accounts| KnownTable {
        name: name.to_owned(),
        accounts,
        custom: CustomNames::Registered(Vec::new()),
    };
    let known = Known {
        tables: vec![
            table("items", Accounts::None),
            table("users", Accounts::Users),
        ],
    };
    let counters = Arc::new(Counters::new(room));
    Arc::new(
        Limiter::new(counters, known, registrations(policy), Vec::new())
            .expect("a valid configuration")
            .0,
    )
}

fn registrations(policy: Option<RateLimitPolicy>) -> Vec<Registration> {
    let limit = Limit {
        windows: policy.into_iter().collect(),
        mode: Mode::Enforce,
        origin: Origin::Default,
    };
    let limits = |table: &str, operation| TableLimits {
        table: table.to_owned(),
        origin: Origin::Default,
        operations: [(operation, limit.clone())].into(),
        custom: [].into(),
        mode: Mode::Enforce,
    };
    vec![
        Registration::stated(Kind::Table, limits("items", Operation::Create)),
        Registration::stated(Kind::Auth, limits("users", Operation::SignIn)),
    ]
}
