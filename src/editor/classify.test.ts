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
  ['a plain SELECT', ALL, 'select a from t where b = 1', 'Read', { tables: ['t'] }],
  ['two statements', ALL, 'select 1; update t set a = 1 where b = 2', 'Read Write'],
  ['a semicolon in a string', ALL, "select ';' as a", 'Read'],
  ['a semicolon in a comment', ALL, 'select 1 -- ; drop table t\n', 'Read'],
  ['a semicolon in a quoted name', ['postgresql'], 'select "a;b" from t', 'Read'],
  [
    'a DELETE in WITH, which is destructive',
    ['postgresql'],
    'with x as (delete from t returning *) select * from x',
    'Write',
    { destructive: true },
  ],
  ['a SELECT that locks rows', ['postgresql', 'mariadb'], 'select a from t for update', 'Write'],
  ['a SELECT into a new table', ['postgresql', 'mssql'], 'select * into b from a', 'Ddl'],
  ['an UPDATE without WHERE, which is destructive', ALL, 'update t set a = 1', 'Write', { destructive: true }],
  ['a DELETE without WHERE, which is destructive', ALL, 'delete from t', 'Write', { destructive: true }],
  ['a CREATE TABLE', ALL, 'create table t (id int primary key)', 'Ddl', { destructive: false }],
  ['an ALTER TABLE that adds a column', ALL, 'alter table t add b int', 'Ddl', { destructive: false }],
  ['a dropped column, which is destructive', ALL, 'alter table t drop column b', 'Ddl', { destructive: true }],
  ['a DROP, which is destructive', ALL, 'drop table t', 'Ddl', { destructive: true }],
  ['a TRUNCATE, which is destructive', ALL, 'truncate table t', 'Ddl', { destructive: true }],
  ['an EXPLAIN', ['postgresql', 'mariadb'], 'explain select 1', 'Read'],
  ['an EXPLAIN ANALYZE of a DELETE', ['postgresql'], 'explain analyze delete from t where a = 1', 'Write'],
  ['BEGIN', ['postgresql', 'mariadb'], 'begin', 'Transaction'],
  [
    'BEGIN TRANSACTION',
    ['mssql'],
    'BEGIN TRANSACTION; BEGIN TRAN t; begin distributed transaction',
    'Transaction Transaction Transaction',
  ],
  [
    'COMMIT, ROLLBACK and SAVE TRANSACTION',
    ['mssql'],
    'commit; rollback tran; save transaction a',
    'Transaction Transaction Transaction',
  ],
  [
    'START TRANSACTION and SAVEPOINT',
    ['postgresql', 'mariadb'],
    'start transaction; savepoint a',
    'Transaction Transaction',
  ],
  ['a BEGIN END block', ['mssql'], 'begin select 1 end', 'Unknown'],
  [
    'BACKUP and RESTORE',
    ['mssql'],
    "BACKUP DATABASE a TO DISK = 'x'; restore database a from disk = 'x'",
    'Admin Admin',
  ],
  ['SHUTDOWN', ['mariadb', 'mssql'], 'SHUTDOWN', 'Admin'],
  ['KILL', ['mariadb', 'mssql'], 'kill 5', 'Admin'],
  [
    'FLUSH, PURGE, RESET and INSTALL',
    ['mariadb'],
    "flush tables; purge binary logs to 'x'; reset master; install soname 'x'",
    'Admin Admin Admin Admin',
  ],
  ['a SELECT with the hints XLOCK and HOLDLOCK', ['mssql'], 'select * from t with (xlock, holdlock)', 'Write'],
  [
    'a SELECT with a hint that outlasts it',
    ['mssql'],
    'select * from a with (holdlock); select * from a with (xlock); select * from a with (serializable)',
    'Write Write Write',
  ],
  ['a SELECT with the hint NOLOCK', ['mssql'], 'select * from t with (nolock)', 'Read'],
  [
    'an advisory lock',
    ['postgresql'],
    'select pg_advisory_lock(1); select pg_catalog.pg_try_advisory_xact_lock_shared(1)',
    'Write Write',
  ],
  ['a named lock', ['mariadb'], "select get_lock('a', 10)", 'Write'],
  [
    'a sleep in PostgreSQL',
    ['postgresql'],
    "select pg_sleep(9); select pg_sleep_for('1 h'), pg_sleep_until('tomorrow')",
    'Write Write',
  ],
  ['a sleep in MariaDB', ['mariadb'], 'select sleep(9)', 'Write'],
  ['a function that advances a sequence', ['postgresql'], "select nextval('a'), setval('a', 1)", 'Write'],
  ['a notification of other sessions', ['postgresql'], "select pg_notify('a', 'b')", 'Write'],
  ['a column named like a function', ['mariadb'], 'select sleep from naps', 'Read'],
  ['a statement of 11,000 columns', ALL, `select ${Array(11_000).fill('a').join(',')}`, 'Unknown'],
  ['four statements of 5,000 columns', ALL, `select ${Array(5_000).fill('a').join(',')};`.repeat(4), 'Unknown'],
  ['a COMMIT after a SELECT', ['postgresql', 'mariadb'], 'select 1; commit', 'Read Transaction'],
  ['a SET', ['postgresql', 'mariadb'], "set session_replication_role = 'replica'", 'Admin'],
  ['a CREATE ROLE', ['postgresql'], 'create role x superuser', 'Admin'],
  ['a GRANT', ['postgresql', 'mariadb'], 'grant select on t to x', 'Admin'],
  ['a COPY to a program', ['postgresql'], "copy t to program 'sh'", 'Admin'],
  ['a function that reads files', ['postgresql'], "select pg_read_file('/etc/passwd')", 'Admin'],
  ['a function that changes settings', ['postgresql'], "select set_config('statement_timeout', '0', true)", 'Admin'],
  [
    'quoted functions of administrators',
    ['mariadb'],
    "select `load_file`('/etc/passwd'); select `LOAD_FILE` /* a */ ('/x'); select `sys_exec`('x'); select `benchmark`(9, 1)",
    'Admin Admin Admin Admin',
  ],
  [
    'quoted functions that wait or lock',
    ['mariadb'],
    "select `sleep`(9); select `get_lock`('a', 1); select master_pos_wait('a', 4); select `master_gtid_wait`('a')",
    'Write Write Write Write',
  ],
  ['quoted columns named like functions', ['mariadb'], 'select `sleep`, `load_file` from naps', 'Read'],
  [
    'a function that runs SQL in a string',
    ['postgresql'],
    "select * from ts_stat('select 1'); select ts_rewrite('a'::tsquery, 'select 1')",
    'Admin Admin',
  ],
  [
    'changes of global objects',
    ['postgresql'],
    "alter role a rename to b; alter database a rename to b; alter tablespace a rename to b; comment on role a is 'x'; comment on database a is 'x'; drop server a; drop publication a; drop language a; drop event trigger a; drop extension a",
    'Admin Admin Admin Admin Admin Admin Admin Admin Admin Admin',
  ],
  [
    'a GRANT in CREATE SCHEMA, and a write of large objects',
    ['postgresql'],
    "create schema x create table t (a int) grant all on t to public; select lowrite(1, 'x'::bytea)",
    'Admin Admin',
  ],
  [
    'a table of another server, folder or schema',
    ['mariadb'],
    "create table a (b int) engine=federated connection='mysql://x/y'; create table a (b int) engine = spider; create table a (b int) data directory='/tmp'; rename table t to mysql.user",
    'Admin Admin Admin Admin',
  ],
  [
    'a string and a comment with options of tables',
    ['mariadb'],
    "create table a (b varchar(40) default 'engine=federated') /* data directory */ engine=InnoDB",
    'Ddl',
  ],
  [
    'a function of SQL Server that reads files',
    ['mssql'],
    "select * from sys.fn_get_audit_file('x', default, default)",
    'Admin',
  ],
  [
    'changes of objects in the database',
    ['postgresql'],
    "alter table a rename to b; comment on table a is 'x'; drop view a",
    'Ddl Ddl Ddl',
  ],
  [
    'a second statement without a semicolon',
    ['mssql'],
    'select 1 checkpoint; select 1 revert; select 1 setuser; select 1 return; select 1 set rowcount 5',
    'Unknown Unknown Unknown Unknown Unknown',
  ],
  ['load_file', ['mariadb'], "select load_file('/etc/passwd')", 'Admin'],
  ['a SELECT INTO OUTFILE', ['mariadb'], "select a from t into outfile '/x'", 'Admin'],
  ['xp_cmdshell', ['mssql'], "exec xp_cmdshell 'dir'", 'Admin'],
  ['xp_cmdshell of another database', ['mssql'], "EXECUTE master..xp_cmdshell 'dir'", 'Admin'],
  ['sp_configure', ['mssql'], "exec sp_configure 'show advanced options', 1", 'Admin'],
  ['a CREATE LOGIN', ['mssql'], "create login x with password = 'y'", 'Admin'],
  ['sp_addlogin', ['mssql'], "exec sp_addlogin 'x'", 'Admin'],
  ['a user-defined procedure', ['mssql'], 'exec monthly_report', 'Unknown'],
  ['SHOW GRANTS', ['mariadb'], 'show grants', 'Admin'],
  ['SHOW GRANTS with a comment and another user', ['mariadb'], 'SHOW /* x */ GRANTS for current_user()', 'Admin'],
  ['SHOW CREATE USER', ['mariadb'], 'show create user current_user', 'Admin'],
  ['a SHOW CREATE TABLE of a table named user', ['mariadb'], 'show create table user', 'Read'],
  ['a CREATE USER', ['mariadb'], "create or replace user x identified by 'y'", 'Admin'],
  ['OPENROWSET', ['mssql'], "select * from openrowset('x', 'y', 'z')", 'Admin'],
  ['an executable comment', ['mariadb'], "select 1 /*! into outfile '/x' */", 'Unknown'],
  ['an executable comment of MariaDB', ['mariadb'], "select 1 /*M!100100 into outfile '/x' */", 'Unknown'],
  ['two hyphens without a space, which begin no comment', ['mariadb'], "select 1 --1 into outfile '/x'", 'Admin'],
  ['a backslash that escapes a quote', ['mariadb'], "select 'a\\'; drop table t; -- '", 'Read'],
  ['a backslash that does not escape a quote', ['mssql'], "select 'a\\'; drop table t; -- '", 'Read Ddl'],
  ['nested comments', ['postgresql', 'mssql'], 'select 1 /* /* */ ; drop table t */', 'Read'],
  ['comments that do not nest', ['mariadb'], 'select 1 /* /* */ ; drop table t', 'Read Ddl'],
  ['an unterminated string', ALL, "select 'abc", 'Unknown'],
  ['an unterminated comment', ALL, 'select 1 /* abc', 'Unknown'],
  ['a NUL character', ALL, 'select 1\0; drop table t', 'Unknown'],
  ['two statements without a semicolon', ['mssql'], 'select 1 a drop table t', 'Unknown'],
  ['a CALL', ['postgresql', 'mariadb'], 'call p()', 'Unknown'],
  ['a DO block', ['postgresql'], "do $$ begin execute 'drop table t'; end $$", 'Unknown'],
  ['an empty batch', ALL, ' ; -- x\n', 'Unknown'],
  ['text that is not SQL', ALL, 'frobnicate the table', 'Unknown'],
  [
    'an expression of 2,000 terms',
    ['postgresql'],
    `create table t (a int default 1${'+1'.repeat(2000)})`,
    'Ddl',
    { destructive: false },
  ],
  ['5,000 nested parentheses', ALL, `select ${'('.repeat(5000)}1${')'.repeat(5000)}`, 'Unknown'],
]

const READING: [sentence: string, dialects: Dialect[], sql: string, reads: boolean][] = [
  ['an INSERT of values', ALL, "insert into t (a, b) values (1, 'x')", false],
  ['an INSERT of a parameter', ALL, 'insert into t (a) values (@id)', false],
  ['an INSERT of defaults', ['postgresql'], 'insert into t default values', false],
  ['an UPDATE of every row to a constant', ALL, 'update t set a = 1', false],
  ['a DELETE of every row', ALL, 'delete from t', false],
  ['an UPDATE with WHERE', ALL, 'update t set a = 1 where b = 2', true],
  ['a DELETE with WHERE', ALL, 'delete from t where b = 2', true],
  ['an UPDATE from another column', ALL, 'update t set a = b', true],
  ['an UPDATE with RETURNING', ['postgresql'], 'update t set a = 1 returning *', true],
  ['an INSERT with RETURNING', ['postgresql', 'mariadb'], 'insert into t (a) values (1) returning b', true],
  ['a DELETE with RETURNING', ['postgresql', 'mariadb'], 'delete from t returning 1', true],
  ['an INSERT of a SELECT', ALL, 'insert into t (a) select b from s', true],
  ['an INSERT of a subquery', ['postgresql'], 'insert into t (a) values ((select count(*) from s))', true],
  [
    'an INSERT with ON DUPLICATE KEY UPDATE',
    ['mariadb'],
    'insert into t (a) values (1) on duplicate key update a = a + 1',
    true,
  ],
  ['a DELETE with USING', ['postgresql'], 'delete from t using s', true],
  ['a DELETE with USING and a join', ['postgresql'], 'delete from t using s natural join u', true],
  ['a DELETE with a second table', ['mariadb', 'mssql'], 'delete t from t, s', true],
  ['an UPDATE with a second table', ['mariadb'], 'update t, s set t.a = 1', true],
  ['an UPDATE with FROM', ['postgresql', 'mssql'], 'update t set a = 1 from s', true],
  ['an INSERT of built-in functions', ['postgresql'], "insert into t values (now(), lower('A'))", false],
  ['an INSERT of built-in functions', ['mariadb'], "insert into t values (now(), lower('A'))", false],
  ['an INSERT of built-in functions', ['mssql'], "insert into t values (getdate(), lower('A'))", false],
  ['an INSERT of a random UUID', ['postgresql'], 'insert into t values (pg_catalog.gen_random_uuid())', false],
  ['an INSERT of a user-defined function', ['postgresql', 'mariadb'], 'insert into t values (peek(1))', true],
  ['an INSERT of a user-defined function', ['mssql'], 'insert into t values (dbo.peek(1))', true],
  ['a user-defined function named like a built-in one', ALL, "insert into t values (own.lower('A'))", true],
  [
    'an INSERT of a statistics function',
    ['postgresql'],
    'insert into t values (pg_stat_get_backend_activity(3)::int)',
    true,
  ],
  ['a SELECT that locks rows', ['postgresql', 'mariadb'], 'select a from t for update', true],
  ['a SELECT that advances a sequence', ['postgresql'], "select nextval('s'), 1", true],
  ['a SELECT that sleeps', ['mariadb'], 'select sleep(1), a from t', true],
  ['an INSERT in WITH', ['postgresql'], 'with x as (insert into t values (1) returning *) select * from x', true],
  ['an EXPLAIN ANALYZE of an UPDATE', ['postgresql'], 'explain analyze update t set a = 1 where b = 2', true],
  ['a CREATE TABLE AS SELECT', ['postgresql'], 'create table b as select * from a', true],
  ['a SELECT INTO', ['postgresql', 'mssql'], 'select * into b from a', true],
  // DDL can let the engine evaluate stored data and return what it found.
  ['a CREATE TABLE', ALL, 'create table t (id int primary key, a varchar(9) not null)', false],
  ['a CREATE TABLE with a default', ALL, 'create table t (a int default 1)', true],
  ['a CREATE TABLE with a check', ALL, 'create table t (a int check (a > 1))', true],
  [
    'a CREATE TABLE with a foreign key',
    ['postgresql', 'mariadb'],
    'create table t (a int, constraint k foreign key (a) references s (id))',
    true,
  ],
  ['a computed column', ['mssql'], 'create table t (a int, b as (a + 1))', true],
  ['a partition of another table', ['postgresql'], 'create table t partition of s for values in (1)', true],
  ['a CREATE TABLE LIKE another', ['postgresql'], 'create table t (like s including all)', true],
  ['a changed type of a column', ['mariadb'], 'alter table t modify column a int', true],
  ['a changed type of a column', ['postgresql'], 'alter table t alter column a type int using a::int', true],
  ['a changed type of a column', ['mssql'], 'alter table t alter column a int', true],
  ['a CREATE INDEX', ALL, 'create index i on t (a)', true],
  ['an added column', ['postgresql'], 'alter table t add column b text default f()', true],
  ['a CREATE FUNCTION', ['postgresql'], "create function f() returns text language sql as 'select a from t'", true],
  ['a CREATE TRIGGER', ['postgresql'], 'create trigger g before insert on t for each row execute function f()', true],
  ['a DROP', ALL, 'drop table t', false],
  ['a TRUNCATE', ALL, 'truncate table t', false],
]

describe('classify: whether a statement reads stored data', () => {
  for (const [sentence, dialects, sql, reads] of READING) {
    for (const dialect of dialects) {
      it(`is ${reads} for ${sentence} (${dialect})`, async () => {
        const { statements } = await classify(dialect, sql, new Set(['id']))
        expect(statements.map((each) => each.reads)).to.deep.equal([reads])
        expect(statements[0]).to.not.have.property('refusal')
      })
    }
  }
})

describe('classify', () => {
  for (const [sentence, dialects, sql, kinds, more = {}] of CASES) {
    for (const dialect of dialects) {
      it(`returns ${kinds} for ${sentence} (${dialect})`, async () => {
        const { statements } = await classify(dialect, sql)
        expect(statements.map(({ kind }) => kind).join(' ')).to.equal(kinds)
        if (more.destructive !== undefined)
          expect(statements.some(({ isDestructive }) => isDestructive)).to.equal(more.destructive)
        if (more.tables !== undefined) expect(statements[0]?.tables).to.deep.equal(more.tables)
      })
    }
  }

  it('refuses DDL beside other statements in MariaDB, which would commit them', async () => {
    const sql = 'insert into t values (1); drop table t'
    const [, inMariadb] = (await classify('mariadb', sql)).statements
    expect(inMariadb?.refusal).to.match(/alone in its batch/)
    expect((await classify('mariadb', 'drop table t')).statements[0]).to.not.have.property('refusal')
    expect((await classify('postgresql', sql)).statements[1]).to.not.have.property('refusal')
  })

  it('replaces @id with the parameter of the engine', async () => {
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
