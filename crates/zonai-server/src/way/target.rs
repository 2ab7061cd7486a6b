//! From a route and what the payload names to the bucket and the operations that are counted.
//!
//! Whatever cannot be read or is not known is counted in one shared bucket, so that a caller who invents names gets
//! no fresh counter. Must never fail: a fault of the payload is answered after the limiter.

use smallvec::{SmallVec, smallvec};
use zonai_http::{Field, Named, Want};
use zonai_limit::{Ask, Bucket, CustomBucket, CustomId, Operation, Shared, TableId};

use crate::gate::Gate;
use crate::route::{Admin, Auth, Data, Route};

/// What a request is counted as.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) bucket: Bucket,
    pub(crate) operations: SmallVec<[Operation; 3]>,
    pub(crate) custom: Option<CustomId>,
    /// What the request is admitted to, once it is.
    pub(crate) to: To,
}

/// Where a request goes after the limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Data(Data, TableId),
    Stream(Data, TableId),
    Custom {
        table: TableId,
        custom: Option<CustomId>,
        many: bool,
    },
    Auth(Auth, Option<TableId>),
    Admin(Admin),
    /// No such route, method, operation, table; or a payload that names none.
    Nowhere(Nowhere),
}

/// Why a request goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nowhere {
    Route,
    Method(&'static str),
    Table,
    Operation,
    /// The payload names no table: what is wrong with it is found by parsing it.
    Payload,
}

impl Nowhere {
    /// For operators.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Route => "the path is no route",
            Self::Method(_) => "the path does not take this method",
            Self::Table => "there is no such table, or it takes no such request",
            Self::Operation => "the custom operation is not registered for the table",
            Self::Payload => "the payload names no table",
        }
    }
}

/// Where a route says the payload is, and what must be found in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The `body` parameter of the query.
    Query,
    /// The body.
    Body(Want),
    /// In the body, but the route alone decides: it is read once the request is admitted.
    BodyLater,
    /// The route alone decides.
    Nothing,
}

pub(crate) const fn source(route: &Route<'_>) -> Source {
    match route {
        Route::Data(Data::Get | Data::List | Data::Count) | Route::Stream(_) => Source::Query,
        Route::Data(_) | Route::Custom { .. } => Source::Body(Want::Table),
        Route::Auth(Auth::Refresh | Auth::Logout | Auth::LogoutAll) => Source::Nothing,
        Route::Auth(Auth::Admin) => Source::BodyLater,
        Route::Auth(
            Auth::ResetPassword
            | Auth::VerifyEmail
            | Auth::SignIn
            | Auth::SignUp
            | Auth::Authenticate
            | Auth::Confirm,
        ) => Source::Body(Want::TableAndType),
        Route::Admin(_) | Route::Health | Route::WrongMethod(_) | Route::Unknown => Source::Nothing,
    }
}

impl Target {
    /// Counted in the bucket of whatever is unknown.
    pub(crate) fn nowhere(why: Nowhere) -> Self {
        Self::shared(Shared::Unknown, Operation::Unknown, To::Nowhere(why))
    }

    fn shared(shared: Shared, operation: Operation, to: To) -> Self {
        Self {
            bucket: Bucket::Shared(shared),
            operations: smallvec![operation],
            custom: None,
            to,
        }
    }

    fn table(table: TableId, operations: SmallVec<[Operation; 3]>, to: To) -> Self {
        Self {
            bucket: Bucket::Table(table),
            operations,
            custom: None,
            to,
        }
    }

    /// What the limiter is asked.
    pub(crate) fn ask(&self, exempt: bool) -> Ask<'_> {
        Ask {
            bucket: self.bucket,
            operations: &self.operations,
            custom: self.custom,
            exempt,
        }
    }

    /// The target of a route, with what was found in its payload (`None` where it has none).
    pub(crate) fn of(gate: &Gate, route: &Route<'_>, payload: Option<Named<'_>>) -> Self {
        match *route {
            Route::Data(data) => match named_table(gate, payload) {
                Ok(table) => Self::table(table, smallvec![data.operation()], To::Data(data, table)),
                Err(why) => Self::nowhere(why),
            },
            Route::Stream(data) => match named_table(gate, payload) {
                Ok(table) => {
                    Self::table(table, smallvec![data.operation()], To::Stream(data, table))
                }
                Err(why) => Self::nowhere(why),
            },
            Route::Custom { name, many } => match named_table(gate, payload) {
                Ok(table) => custom(gate, table, name, many),
                Err(why) => Self::nowhere(why),
            },
            Route::Auth(auth) => of_auth(gate, auth, payload),
            Route::Admin(admin) => Self::shared(Shared::Admin, Operation::Admin, To::Admin(admin)),
            Route::WrongMethod(allow) => Self::nowhere(Nowhere::Method(allow)),
            Route::Health | Route::Unknown => Self::nowhere(Nowhere::Route),
        }
    }
}

/// Where a request is counted that names its table in the query.
pub(super) fn bucket_named(gate: &Gate, payload: Option<Named<'_>>) -> Bucket {
    named_table(gate, payload).map_or(Bucket::Shared(Shared::Unknown), Bucket::Table)
}

fn named_table(gate: &Gate, payload: Option<Named<'_>>) -> Result<TableId, Nowhere> {
    match payload.map(|named| named.table) {
        Some(Field::Text(name)) => gate.limiter.table(name).ok_or(Nowhere::Table),
        Some(Field::TooLong) => Err(Nowhere::Table),
        Some(Field::Missing | Field::NotString) | None => Err(Nowhere::Payload),
    }
}

fn custom(gate: &Gate, table: TableId, name: &str, many: bool) -> Target {
    let custom = match gate.limiter.custom_bucket(table, name) {
        CustomBucket::Registered(custom) => Some(custom),
        CustomBucket::Unvalidated => None,
        CustomBucket::Unknown => return Target::nowhere(Nowhere::Operation),
    };
    Target {
        bucket: Bucket::Table(table),
        operations: smallvec![Operation::Custom],
        custom,
        to: To::Custom {
            table,
            custom,
            many,
        },
    }
}

fn of_auth(gate: &Gate, auth: Auth, payload: Option<Named<'_>>) -> Target {
    let header = |operation| Target::shared(Shared::AuthHeader, operation, To::Auth(auth, None));
    match auth {
        Auth::Refresh => return header(Operation::RefreshToken),
        Auth::Logout => return header(Operation::Logout),
        Auth::LogoutAll => return header(Operation::LogoutAll),
        Auth::Admin => return for_admin(auth, None),
        _ => {}
    }
    let table = match payload.map(|named| named.table) {
        Some(Field::Text(name)) => gate.limiter.table(name),
        // Only a payload that was read to its end can have left the table out.
        Some(Field::Missing) if !payload.is_some_and(|named| named.broken) => {
            gate.limiter.table(zonai_auth::requests::DEFAULT_TABLE)
        }
        _ => None,
    };
    let kind = match payload.map(|named| named.kind) {
        Some(Field::Text(kind)) => kind,
        _ => "",
    };
    if kind.starts_with("admin") || table.is_some_and(|table| gate.is_admin_table(table)) {
        return for_admin(auth, table);
    }
    if auth == Auth::Confirm {
        return Target::shared(
            Shared::AuthConfirm,
            Operation::Confirm,
            To::Auth(auth, table),
        );
    }
    let Some(table) = table.filter(|table| gate.is_auth_table(*table)) else {
        let named = matches!(
            payload.map(|named| named.table),
            Some(Field::Text(_) | Field::TooLong)
        );
        return Target::nowhere(if named {
            Nowhere::Table
        } else {
            Nowhere::Payload
        });
    };
    let operations = match (auth, kind) {
        (Auth::SignUp, _) => smallvec![Operation::SignUp, Operation::SignIn],
        (Auth::SignIn, _) => smallvec![Operation::SignIn],
        (Auth::ResetPassword, _) => smallvec![Operation::SendResetPassword],
        (Auth::VerifyEmail, _) => smallvec![Operation::SendVerifyEmail],
        (_, "signIn") => smallvec![Operation::SignIn, Operation::Authenticate],
        (_, "signUp") => smallvec![
            Operation::SignUp,
            Operation::SignIn,
            Operation::Authenticate
        ],
        (_, "sendOtp") => smallvec![Operation::SendOtp, Operation::Authenticate],
        (_, "sendMagicLink") => smallvec![Operation::SendMagicLink, Operation::Authenticate],
        (_, _) => smallvec![Operation::Authenticate],
    };
    Target::table(table, operations, To::Auth(auth, Some(table)))
}

fn for_admin(auth: Auth, table: Option<TableId>) -> Target {
    Target::shared(
        Shared::AdminAuth,
        Operation::AdminAuthenticate,
        To::Auth(auth, table),
    )
}
