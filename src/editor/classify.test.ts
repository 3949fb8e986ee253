import { expect } from 'chai'
import { classify } from './classify.ts'
import type { Dialect } from './dialect.ts'

type Case = [
  sentence: string,
  dialects: Dialect[],
  sql: string,
  kinds: string,
  more?: { destructive?: boolean; tables?: string[] },
]
const ALL: Dialect[] = ['postgresql', 'mariadb', 'mssql']

const CASES: Case[] = [
  ['a plain select reads', ALL, 'select a from t where b = 1', 'Read', { tables: ['t'] }],
  ['two statements are told apart', ALL, 'select 1; update t set a = 1 where b = 2', 'Read Write'],
  ['a semicolon in a text is not an end', ALL, "select ';' as a", 'Read'],
  ['a semicolon in a comment is not an end', ALL, 'select 1 -- ; drop table t\n', 'Read'],
  ['a semicolon in a quoted name is not an end', ['postgresql'], 'select "a;b" from t', 'Read'],
  [
    'a delete inside WITH writes',
    ['postgresql'],
    'with x as (delete from t returning *) select * from x',
    'Write',
    { destructive: true },
  ],
  ['a select that locks rows writes', ['postgresql', 'mariadb'], 'select a from t for update', 'Write'],
  ['a select into a new table changes the schema', ['postgresql', 'mssql'], 'select * into b from a', 'Ddl'],
  ['an update without WHERE is destructive', ALL, 'update t set a = 1', 'Write', { destructive: true }],
  ['a delete without WHERE is destructive', ALL, 'delete from t', 'Write', { destructive: true }],
  ['a create table changes the schema', ALL, 'create table t (id int primary key)', 'Ddl', { destructive: false }],
  ['an alter table changes the schema', ALL, 'alter table t add b int', 'Ddl', { destructive: false }],
  ['a dropped column is destructive', ALL, 'alter table t drop column b', 'Ddl', { destructive: true }],
  ['a drop is destructive', ALL, 'drop table t', 'Ddl', { destructive: true }],
  ['a truncate is destructive', ALL, 'truncate table t', 'Ddl', { destructive: true }],
  ['an explain reads', ['postgresql', 'mariadb'], 'explain select 1', 'Read'],
  ['an explain that runs is what it runs', ['postgresql'], 'explain analyze delete from t where a = 1', 'Write'],
  ['a begin is a transaction of its own', ['postgresql', 'mariadb'], 'begin', 'Transaction'],
  [
    'a begin transaction is one as well',
    ['mssql'],
    'BEGIN TRANSACTION; BEGIN TRAN t; begin distributed transaction',
    'Transaction Transaction Transaction',
  ],
  [
    'so are its ends and its parts',
    ['mssql'],
    'commit; rollback tran; save transaction a',
    'Transaction Transaction Transaction',
  ],
  [
    'a start and a savepoint are transactions',
    ['postgresql', 'mariadb'],
    'start transaction; savepoint a',
    'Transaction Transaction',
  ],
  ['a block of statements is none', ['mssql'], 'begin select 1 end', 'Unknown'],
  [
    'a backup is for administrators',
    ['mssql'],
    "BACKUP DATABASE a TO DISK = 'x'; restore database a from disk = 'x'",
    'Admin Admin',
  ],
  ['a shutdown is for administrators', ['mariadb', 'mssql'], 'SHUTDOWN', 'Admin'],
  ['to end sessions is for administrators', ['mariadb', 'mssql'], 'kill 5', 'Admin'],
  [
    'to flush, purge, reset or install is for administrators',
    ['mariadb'],
    "flush tables; purge binary logs to 'x'; reset master; install soname 'x'",
    'Admin Admin Admin Admin',
  ],
  ['a select that locks what it reads writes', ['mssql'], 'select * from t with (xlock, holdlock)', 'Write'],
  [
    'each hint that outlasts the reading locks',
    ['mssql'],
    'select * from a with (holdlock); select * from a with (xlock); select * from a with (serializable)',
    'Write Write Write',
  ],
  ['a hint that locks nothing reads', ['mssql'], 'select * from t with (nolock)', 'Read'],
  [
    'an advisory lock writes',
    ['postgresql'],
    'select pg_advisory_lock(1); select pg_catalog.pg_try_advisory_xact_lock_shared(1)',
    'Write Write',
  ],
  ['and so does a named one', ['mariadb'], "select get_lock('a', 10)", 'Write'],
  [
    'a pause holds what was read, and writes',
    ['postgresql'],
    "select pg_sleep(9); select pg_sleep_for('1 h'), pg_sleep_until('tomorrow')",
    'Write Write',
  ],
  ['a pause in MariaDB too', ['mariadb'], 'select sleep(9)', 'Write'],
  ['a sequence that moves on writes', ['postgresql'], "select nextval('a'), setval('a', 1)", 'Write'],
  ['a message to other sessions writes', ['postgresql'], "select pg_notify('a', 'b')", 'Write'],
  ['a column of such a name reads', ['mariadb'], 'select sleep from naps', 'Read'],
  ['a batch of very many words is refused', ALL, `select ${Array(11_000).fill('a').join(',')}`, 'Unknown'],
  ['so are very many in several statements', ALL, `select ${Array(5_000).fill('a').join(',')};`.repeat(4), 'Unknown'],
  ['a commit after a read is not hidden by it', ['postgresql', 'mariadb'], 'select 1; commit', 'Read Transaction'],
  ['a setting is for administrators', ['postgresql', 'mariadb'], "set session_replication_role = 'replica'", 'Admin'],
  ['a role is for administrators', ['postgresql'], 'create role x superuser', 'Admin'],
  ['a grant is for administrators', ['postgresql', 'mariadb'], 'grant select on t to x', 'Admin'],
  ['a copy to a program is for administrators', ['postgresql'], "copy t to program 'sh'", 'Admin'],
  ['a function that reads files is for administrators', ['postgresql'], "select pg_read_file('/etc/passwd')", 'Admin'],
  [
    'a function that lifts limits is for administrators',
    ['postgresql'],
    "select set_config('statement_timeout', '0', true)",
    'Admin',
  ],
  [
    'quotes do not hide a function',
    ['mariadb'],
    "select `load_file`('/etc/passwd'); select `LOAD_FILE` /* a */ ('/x'); select `sys_exec`('x'); select `benchmark`(9, 1)",
    'Admin Admin Admin Admin',
  ],
  [
    'nor one that holds others up',
    ['mariadb'],
    "select `sleep`(9); select `get_lock`('a', 1); select master_pos_wait('a', 4); select `master_gtid_wait`('a')",
    'Write Write Write Write',
  ],
  ['a quoted column of such a name reads', ['mariadb'], 'select `sleep`, `load_file` from naps', 'Read'],
  [
    'a function that runs what it is given as text is for administrators',
    ['postgresql'],
    "select * from ts_stat('select 1'); select ts_rewrite('a'::tsquery, 'select 1')",
    'Admin Admin',
  ],
  [
    'what is of the server is for administrators, whatever is done with it',
    ['postgresql'],
    "alter role a rename to b; alter database a rename to b; alter tablespace a rename to b; comment on role a is 'x'; comment on database a is 'x'; drop server a; drop publication a; drop language a; drop event trigger a; drop extension a",
    'Admin Admin Admin Admin Admin Admin Admin Admin Admin Admin',
  ],
  [
    'nor are grants hidden in a schema',
    ['postgresql'],
    "create schema x create table t (a int) grant all on t to public; select lowrite(1, 'x'::bytea)",
    'Admin Admin',
  ],
  [
    'a table that is elsewhere, or of somebody else, is for administrators',
    ['mariadb'],
    "create table a (b int) engine=federated connection='mysql://x/y'; create table a (b int) engine = spider; create table a (b int) data directory='/tmp'; rename table t to mysql.user",
    'Admin Admin Admin Admin',
  ],
  [
    'a text and a comment may say so',
    ['mariadb'],
    "create table a (b varchar(40) default 'engine=federated') /* data directory */ engine=InnoDB",
    'Ddl',
  ],
  [
    'a function that reads files of SQL Server is too',
    ['mssql'],
    "select * from sys.fn_get_audit_file('x', default, default)",
    'Admin',
  ],
  [
    "what is of the database is the schema's",
    ['postgresql'],
    "alter table a rename to b; comment on table a is 'x'; drop view a",
    'Ddl Ddl Ddl',
  ],
  [
    'a statement behind a read without a semicolon is not hidden by it',
    ['mssql'],
    'select 1 checkpoint; select 1 revert; select 1 setuser; select 1 return; select 1 set rowcount 5',
    'Unknown Unknown Unknown Unknown Unknown',
  ],
  ['load_file is for administrators', ['mariadb'], "select load_file('/etc/passwd')", 'Admin'],
  ['a select into a file is for administrators', ['mariadb'], "select a from t into outfile '/x'", 'Admin'],
  ['xp_cmdshell is for administrators', ['mssql'], "exec xp_cmdshell 'dir'", 'Admin'],
  ['so it is of another database', ['mssql'], "EXECUTE master..xp_cmdshell 'dir'", 'Admin'],
  ['a setting of the server is', ['mssql'], "exec sp_configure 'show advanced options', 1", 'Admin'],
  ['a login is for administrators', ['mssql'], "create login x with password = 'y'", 'Admin'],
  ['so it is by a procedure', ['mssql'], "exec sp_addlogin 'x'", 'Admin'],
  ['a procedure of somebody is unknown', ['mssql'], 'exec monthly_report', 'Unknown'],
  ['how a login proves itself is', ['mariadb'], 'show grants', 'Admin'],
  ['of which somebody else is no other', ['mariadb'], 'SHOW /* x */ GRANTS for current_user()', 'Admin'],
  ['and by its other command', ['mariadb'], 'show create user current_user', 'Admin'],
  ['a table of such a name is none', ['mariadb'], 'show create table user', 'Read'],
  ['a user of the server is', ['mariadb'], "create or replace user x identified by 'y'", 'Admin'],
  ['openrowset is for administrators', ['mssql'], "select * from openrowset('x', 'y', 'z')", 'Admin'],
  ['a comment that the engine runs is refused', ['mariadb'], "select 1 /*! into outfile '/x' */", 'Unknown'],
  ['and with the other spelling', ['mariadb'], "select 1 /*M!100100 into outfile '/x' */", 'Unknown'],
  ['two minus signs without a space are no comment there', ['mariadb'], "select 1 --1 into outfile '/x'", 'Admin'],
  ['a backslash does not end a text where it escapes', ['mariadb'], "select 'a\\'; drop table t; -- '", 'Read'],
  ['a backslash ends a text where it does not', ['mssql'], "select 'a\\'; drop table t; -- '", 'Read Ddl'],
  [
    'nested comments are read as the engine does',
    ['postgresql', 'mssql'],
    'select 1 /* /* */ ; drop table t */',
    'Read',
  ],
  ['comments do not nest in MariaDB', ['mariadb'], 'select 1 /* /* */ ; drop table t', 'Read Ddl'],
  ['an open quote is refused', ALL, "select 'abc", 'Unknown'],
  ['an open comment is refused', ALL, 'select 1 /* abc', 'Unknown'],
  ['a NUL is refused', ALL, 'select 1\0; drop table t', 'Unknown'],
  ['statements side by side without a semicolon are refused', ['mssql'], 'select 1 a drop table t', 'Unknown'],
  ['a procedure is refused', ['postgresql', 'mariadb'], 'call p()', 'Unknown'],
  ['a block of code is refused', ['postgresql'], "do $$ begin execute 'drop table t'; end $$", 'Unknown'],
  ['an empty batch is refused', ALL, ' ; -- x\n', 'Unknown'],
  ['what is not SQL is refused', ALL, 'frobnicate the table', 'Unknown'],
  [
    'a statement whose tree is deeper than the parser’s reader is told as any other',
    ['postgresql'],
    `create table t (a int default 1${'+1'.repeat(2000)})`,
    'Ddl',
    { destructive: false },
  ],
  ['deep nesting is refused', ALL, `select ${'('.repeat(5000)}1${')'.repeat(5000)}`, 'Unknown'],
]

const READING: [sentence: string, dialects: Dialect[], sql: string, reads: boolean][] = [
  ['an insert of values', ALL, "insert into t (a, b) values (1, 'x')", false],
  ['an insert of a parameter', ALL, 'insert into t (a) values (@id)', false],
  ['an insert of defaults', ['postgresql'], 'insert into t default values', false],
  ['an update of every row to one value', ALL, 'update t set a = 1', false],
  ['a delete of every row', ALL, 'delete from t', false],
  ['an update that looks for rows', ALL, 'update t set a = 1 where b = 2', true],
  ['a delete that looks for rows', ALL, 'delete from t where b = 2', true],
  ['an update by another column', ALL, 'update t set a = b', true],
  ['an update that returns rows', ['postgresql'], 'update t set a = 1 returning *', true],
  ['an insert that returns rows', ['postgresql', 'mariadb'], 'insert into t (a) values (1) returning b', true],
  ['a delete that returns rows', ['postgresql', 'mariadb'], 'delete from t returning 1', true],
  ['an insert of what another table holds', ALL, 'insert into t (a) select b from s', true],
  ['an insert that counts', ['postgresql'], 'insert into t (a) values ((select count(*) from s))', true],
  [
    'an insert that looks at what is there',
    ['mariadb'],
    'insert into t (a) values (1) on duplicate key update a = a + 1',
    true,
  ],
  ['a delete beside another table', ['postgresql'], 'delete from t using s', true],
  ['a delete of what two tables have in common', ['postgresql'], 'delete from t using s natural join u', true],
  ['a delete beside another table', ['mariadb', 'mssql'], 'delete t from t, s', true],
  ['an update beside another table', ['mariadb'], 'update t, s set t.a = 1', true],
  ['an update beside another table', ['postgresql', 'mssql'], 'update t set a = 1 from s', true],
  ['an insert of what the engine knows by itself', ['postgresql'], "insert into t values (now(), lower('A'))", false],
  ['an insert of what the engine knows by itself', ['mariadb'], "insert into t values (now(), lower('A'))", false],
  ['an insert of what the engine knows by itself', ['mssql'], "insert into t values (getdate(), lower('A'))", false],
  ['an insert of a new id', ['postgresql'], 'insert into t values (pg_catalog.gen_random_uuid())', false],
  [
    'an insert of what somebody wrote a function for',
    ['postgresql', 'mariadb'],
    'insert into t values (peek(1))',
    true,
  ],
  ['an insert of what somebody wrote a function for', ['mssql'], 'insert into t values (dbo.peek(1))', true],
  ['a function that is called like one of the engine', ALL, "insert into t values (own.lower('A'))", true],
  [
    'an insert of what others ask the engine',
    ['postgresql'],
    'insert into t values (pg_stat_get_backend_activity(3)::int)',
    true,
  ],
  ['a query that locks', ['postgresql', 'mariadb'], 'select a from t for update', true],
  ['a query that takes a number', ['postgresql'], "select nextval('s'), 1", true],
  ['a query that sleeps', ['mariadb'], 'select sleep(1), a from t', true],
  ['a write in WITH', ['postgresql'], 'with x as (insert into t values (1) returning *) select * from x', true],
  ['a plan of an update that is run', ['postgresql'], 'explain analyze update t set a = 1 where b = 2', true],
  ['a table made by a query', ['postgresql'], 'create table b as select * from a', true],
  ['a table made by INTO', ['postgresql', 'mssql'], 'select * into b from a', true],
  // Whoever changes a schema can have the engine work on what is stored, and say what it found.
  ['a new table', ALL, 'create table t (id int primary key, a varchar(9) not null)', false],
  ['a new table with a default', ALL, 'create table t (a int default 1)', true],
  ['a new table with a check', ALL, 'create table t (a int check (a > 1))', true],
  [
    'a new table with a key of another',
    ['postgresql', 'mariadb'],
    'create table t (a int, constraint k foreign key (a) references s (id))',
    true,
  ],
  ['a computed column', ['mssql'], 'create table t (a int, b as (a + 1))', true],
  ['a partition of another table', ['postgresql'], 'create table t partition of s for values in (1)', true],
  ['a new table with the defaults of another', ['postgresql'], 'create table t (like s including all)', true],
  ['another type of a column', ['mariadb'], 'alter table t modify column a int', true],
  ['another type of a column', ['postgresql'], 'alter table t alter column a type int using a::int', true],
  ['another type of a column', ['mssql'], 'alter table t alter column a int', true],
  ['an index', ALL, 'create index i on t (a)', true],
  ['a new column', ['postgresql'], 'alter table t add column b text default f()', true],
  ['a function', ['postgresql'], "create function f() returns text language sql as 'select a from t'", true],
  ['a trigger', ['postgresql'], 'create trigger g before insert on t for each row execute function f()', true],
  ['a drop', ALL, 'drop table t', false],
  ['a truncate', ALL, 'truncate table t', false],
]

describe('whether a statement reads what is stored, whatever else it does', () => {
  for (const [sentence, dialects, sql, reads] of READING) {
    for (const dialect of dialects) {
      it(`${dialect}: ${sentence} ${reads ? 'does' : 'does not'}`, async () => {
        const { statements } = await classify(dialect, sql, new Set(['id']))
        expect(statements.map((each) => each.reads)).to.deep.equal([reads])
        expect(statements[0]).to.not.have.property('refusal')
      })
    }
  }
})

describe('classification of SQL', () => {
  for (const [sentence, dialects, sql, kinds, more = {}] of CASES) {
    for (const dialect of dialects) {
      it(`${dialect}: ${sentence}`, async () => {
        const { statements } = await classify(dialect, sql)
        expect(statements.map(({ kind }) => kind).join(' ')).to.equal(kinds)
        if (more.destructive !== undefined)
          expect(statements.some(({ isDestructive }) => isDestructive)).to.equal(more.destructive)
        if (more.tables !== undefined) expect(statements[0]?.tables).to.deep.equal(more.tables)
      })
    }
  }

  it('refuses a change of schema beside other statements where it would end the transaction', async () => {
    const sql = 'insert into t values (1); drop table t'
    const [, inMariadb] = (await classify('mariadb', sql)).statements
    expect(inMariadb?.refusal).to.match(/alone in its batch/)
    expect((await classify('mariadb', 'drop table t')).statements[0]).to.not.have.property('refusal')
    expect((await classify('postgresql', sql)).statements[1]).to.not.have.property('refusal')
  })

  it('puts the engine’s own form of a parameter in its place', async () => {
    const names = new Set(['id'])
    const sql = "select '@id', @id as a, @other as b where 1=@id"
    const [one] = (await classify('mariadb', sql, names)).statements
    expect(one).to.include({ text: "select '@id', ? as a, @other as b where 1=?" })
    expect(one?.parameters).to.deep.equal(['id', 'id'])
    const [two] = (await classify('postgresql', "select '@id', @id as a where 1=@id", names)).statements
    expect(two).to.include({ text: "select '@id', $1 as a where 1=$1", kind: 'Read' })
    expect(two?.parameters).to.deep.equal(['id'])
  })
})
