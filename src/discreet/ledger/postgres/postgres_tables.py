"""The tables of ledgers in a PostgreSQL database, and what the database itself refuses.

    discreet.ledgers    one row for each ledger: the end of its chain and what is spent; the row that writers lock
    discreet.events     the chains; rows are added, by one writer of a ledger at a time, and nothing else
    discreet.datasets   which ledgers pay for a dataset

Whoever may insert events may do that only: the trigger that follows an insert runs with the rights of the owner, checks
that the events continue the chain, that a reservation adds to the running total what it says, and that an entry is
settled once and after its reservation, and moves the row of the ledger on; that row has the budget as a constraint. The
triggers hold for every session, the owner's and a replica's too. The owner can drop them: chains and noted heads tell.
"""

__all__ = ["DEFINED", "GRANTS", "NOTHING_ELSE", "TABLES", "TRIGGERS"]

LEDGERS = """CREATE TABLE discreet.ledgers (
  ledger text PRIMARY KEY,
  place text NOT NULL UNIQUE,
  format integer NOT NULL,
  accepted text NOT NULL,
  most numeric NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 0),
  hash text NOT NULL,
  spent numeric NOT NULL,
  CONSTRAINT within_budget CHECK (spent >= 0 AND spent <= most)
)"""

EVENTS = """CREATE TABLE discreet.events (
  ledger text NOT NULL REFERENCES discreet.ledgers,
  seq bigint NOT NULL CHECK (seq >= 1),
  kind text NOT NULL CHECK (kind IN ('create', 'reserve', 'settle', 'migrate')),
  entry text NOT NULL,
  request text CHECK ((request IS NOT NULL) = (kind = 'reserve')),
  body text NOT NULL,
  previous text NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (ledger, seq),
  CONSTRAINT once UNIQUE (ledger, request),
  CONSTRAINT one_of_a_kind UNIQUE (ledger, kind, entry),
  CONSTRAINT one_next UNIQUE (ledger, previous),
  CONSTRAINT own_hash UNIQUE (ledger, hash),
  CONSTRAINT hash_of_content CHECK (hash = encode(sha256(convert_to(
    previous || E'\\n' || seq || E'\\n' || kind || E'\\n' || entry || E'\\n' || body, 'UTF8')), 'hex'))
)"""

DATASETS = """CREATE TABLE discreet.datasets (
  dataset text NOT NULL,
  ledger text NOT NULL REFERENCES discreet.ledgers,
  acknowledged boolean NOT NULL,
  PRIMARY KEY (dataset, ledger)
)"""
ONE_LEDGER = "CREATE UNIQUE INDEX one_ledger ON discreet.datasets (dataset) WHERE NOT acknowledged"

LOCKED = """
  SELECT l.seq, l.hash, current_setting('fsync') FROM discreet.ledgers l WHERE l.ledger = wanted FOR UPDATE
"""
REFUSED = """
BEGIN
  RAISE EXCEPTION 'append-only' USING ERRCODE = 'restrict_violation';
END
"""
ONWARD = """
BEGIN
  IF (NEW.ledger, NEW.place, NEW.format, NEW.accepted, NEW.most)
      IS DISTINCT FROM (OLD.ledger, OLD.place, OLD.format, OLD.accepted, OLD.most)
      OR NEW.seq <= OLD.seq OR NEW.spent < OLD.spent THEN
    RAISE EXCEPTION 'append-only' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
"""
APPENDED = """
DECLARE
  held discreet.ledgers%ROWTYPE;
  each discreet.events%ROWTYPE;
  content json;
  known json;
  named text;
BEGIN
  FOR each IN SELECT * FROM added ORDER BY ledger, seq LOOP
    IF held.ledger IS NULL THEN
      SELECT * INTO STRICT held FROM discreet.ledgers WHERE ledger = each.ledger FOR UPDATE;
      SELECT body::json -> 'acknowledged' INTO STRICT known FROM discreet.events WHERE ledger = each.ledger AND seq = 1;
    END IF;
    IF each.ledger <> held.ledger OR each.seq <> held.seq + 1 OR each.previous <> held.hash
        OR (each.kind = 'create') <> (each.seq = 1) THEN
      RAISE EXCEPTION 'append-only' USING ERRCODE = 'restrict_violation';
    END IF;
    IF each.kind IN ('reserve', 'settle') AND EXISTS (
        SELECT FROM discreet.events e
        WHERE e.ledger = each.ledger AND e.kind = 'migrate' AND e.entry = 'moved' AND e.seq < each.seq) THEN
      RAISE EXCEPTION 'moved' USING ERRCODE = 'restrict_violation';
    END IF;
    content := CASE WHEN each.kind = 'settle' THEN NULL ELSE each.body::json END;
    IF each.kind = 'migrate' AND ((content -> 'moved') IS NOT NULL) <> (each.entry = 'moved') THEN
      RAISE EXCEPTION 'no move' USING ERRCODE = 'restrict_violation';
    END IF;
    IF each.kind = 'reserve' THEN
      IF (content ->> 'request') IS DISTINCT FROM each.request
          OR (content ->> 'spend')::numeric < 0
          OR (content ->> 'spent_after')::numeric IS DISTINCT FROM held.spent + (content ->> 'spend')::numeric THEN
        RAISE EXCEPTION 'not its price' USING ERRCODE = 'restrict_violation';
      END IF;
      held.spent := (content ->> 'spent_after')::numeric;
      named := content -> 'recipe' -> 'dataset';
      IF named <> 'null' THEN
        INSERT INTO discreet.datasets VALUES (
          encode(sha256(convert_to(named, 'UTF8')), 'hex'), each.ledger,
          EXISTS (SELECT FROM json_array_elements(known) AS id WHERE id::text = named)
        ) ON CONFLICT (dataset, ledger) DO NOTHING;
      END IF;
    ELSIF each.kind = 'settle' AND NOT EXISTS (
        SELECT FROM discreet.events e
        WHERE e.ledger = each.ledger AND e.kind = 'reserve' AND e.entry = each.entry AND e.seq < each.seq) THEN
      RAISE EXCEPTION 'not reserved' USING ERRCODE = 'restrict_violation';
    ELSIF (content -> 'moved') IS NOT NULL THEN
      DELETE FROM discreet.datasets WHERE ledger = each.ledger;
    END IF;
    held.seq := each.seq;
    held.hash := each.hash;
  END LOOP;
  UPDATE discreet.ledgers SET seq = held.seq, hash = held.hash, spent = held.spent WHERE ledger = held.ledger;
  RETURN NULL;
END
"""

# A path of its own: whoever calls a function of the owner must not choose what its names mean.
OWN = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp"
RESULT = "TABLE (seq bigint, hash text, fsync text)"
FUNCTIONS = {
    "lock_ledger": (f"(wanted text) RETURNS {RESULT} LANGUAGE sql VOLATILE {OWN}", LOCKED),
    "refused": (f"() RETURNS trigger LANGUAGE plpgsql {OWN}", REFUSED),
    "onward": (f"() RETURNS trigger LANGUAGE plpgsql {OWN}", ONWARD),
    "appended": (f"() RETURNS trigger LANGUAGE plpgsql {OWN}", APPENDED),
}
STATEMENT = "FOR EACH STATEMENT EXECUTE FUNCTION discreet"
NEW_ROWS = "REFERENCING NEW TABLE AS added"
TRIGGERS = {
    (
        "events",
        "after_append",
    ): f"AFTER INSERT ON discreet.events {NEW_ROWS} {STATEMENT}.appended()",
    ("events", "no_change"): f"BEFORE UPDATE OR DELETE OR TRUNCATE ON discreet.events {STATEMENT}.refused()",
    ("ledgers", "no_removal"): f"BEFORE DELETE OR TRUNCATE ON discreet.ledgers {STATEMENT}.refused()",
    ("ledgers", "only_onward"): "BEFORE UPDATE ON discreet.ledgers FOR EACH ROW EXECUTE FUNCTION discreet.onward()",
}

# As the catalogue writes it: bits for ROW 1, BEFORE 2, INSERT 4, DELETE 8, UPDATE 16, TRUNCATE 32; then the function.
MOMENTS = {
    "after_append": "4 appended",
    "no_change": "58 refused",
    "no_removal": "42 refused",
    "only_onward": "19 onward",
}

TABLES = (
    "CREATE SCHEMA discreet",
    "REVOKE ALL ON SCHEMA discreet FROM PUBLIC",
    LEDGERS,
    EVENTS,
    DATASETS,
    ONE_LEDGER,
    *(f"CREATE FUNCTION discreet.{name} {head} AS $sql${body}$sql$" for name, (head, body) in FUNCTIONS.items()),
    *(f"REVOKE ALL ON FUNCTION discreet.{name} FROM PUBLIC" for name in FUNCTIONS),
    *(f"CREATE TRIGGER {name} {what}" for (_, name), what in TRIGGERS.items()),
    *(f"ALTER TABLE discreet.{table} ENABLE ALWAYS TRIGGER {name}" for table, name in TRIGGERS),
)

# What a role needs to pay from the ledgers of a database, and no more.
GRANTS = (
    "GRANT USAGE ON SCHEMA discreet TO {role}",
    "GRANT SELECT ON discreet.ledgers, discreet.events, discreet.datasets TO {role}",
    "GRANT INSERT ON discreet.events TO {role}",
    "GRANT EXECUTE ON FUNCTION discreet.lock_ledger TO {role}",
)

# What is there: equal to the above, or somebody changed what the database refuses, or made something that looks alike.
# Everything must be the schema's owner's, since an owner may change what is theirs; a trigger must call our function at
# our moment; a table must survive a crash, and nothing that is computed as a row is added (constraints, defaults,
# indexes) may call a function, operator or type that is not the server's own: it would run with the rights of who pays.
DEFINED = """
  SELECT 'function ' || p.proname || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ') ' || l.lanname,
    p.prosrc, p.prosecdef AND p.proconfig = '{"search_path=pg_catalog, pg_temp"}' AND p.proowner = n.nspowner
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE n.nspname = 'discreet'
  UNION ALL
  SELECT 'trigger ' || c.relname || ' ' || t.tgname || ' ' || t.tgtype || ' ' || p.proname, '',
    t.tgenabled = 'A' AND t.tgqual IS NULL AND p.pronamespace = c.relnamespace AND t.tgattr::text = '' AND t.tgnargs = 0
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
  WHERE c.relnamespace = 'discreet'::regnamespace AND NOT t.tgisinternal
  UNION ALL
  SELECT 'table ' || c.relname, '', c.relkind = 'r' AND c.relpersistence = 'p' AND c.relowner = n.nspowner
    AND NOT c.relrowsecurity AND NOT c.relhasrules AND NOT c.relhassubclass
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'discreet' AND c.relkind <> 'i'
  UNION ALL
  SELECT 'computed', '', false
  FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.relnamespace = 'discreet'::regnamespace
  WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass) AND (
    d.classid = 'pg_class'::regclass AND d.objid = c.oid
    OR d.classid = 'pg_constraint'::regclass
      AND d.objid IN (SELECT k.oid FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid)
    OR d.classid = 'pg_attrdef'::regclass
      AND d.objid IN (SELECT a.oid FROM pg_catalog.pg_attrdef a WHERE a.adrelid = c.oid))
"""
NOTHING_ELSE = {
    ("function lock_ledger(wanted text) sql", LOCKED, True),
    *((f"function {name}() plpgsql", FUNCTIONS[name][1], True) for name in ("refused", "onward", "appended")),
    *((f"trigger {table} {name} {MOMENTS[name]}", "", True) for table, name in TRIGGERS),
    *((f"table {name}", "", True) for name in ("ledgers", "events", "datasets")),
}
