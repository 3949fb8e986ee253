import { loadModule, parseSync } from 'libpg-query'
import { inverted } from '../core/inverted.ts'
import { refusedStatement, type StatementClassification, type StatementKind } from './classification.ts'
import { mayReadStoredData } from './plainFunctions.ts'

/** Statement kinds by node name in PostgreSQL's grammar (parsenodes.h). Unlisted nodes are Unknown. */
const KINDS = inverted<StatementKind>({
  Read: 'SelectStmt VariableShowStmt',
  Write: 'InsertStmt UpdateStmt DeleteStmt MergeStmt',
  Ddl: `CreateStmt CreateTableAsStmt CreateSchemaStmt CreateSeqStmt AlterSeqStmt CreateEnumStmt AlterEnumStmt
    CreateDomainStmt AlterDomainStmt CompositeTypeStmt CreateRangeStmt CreateStatsStmt AlterTableStmt RenameStmt
    AlterObjectSchemaStmt DropStmt TruncateStmt IndexStmt ViewStmt CreateFunctionStmt AlterFunctionStmt CreateTrigStmt
    RuleStmt CommentStmt RefreshMatViewStmt CreatePolicyStmt AlterPolicyStmt`,
  Transaction: 'TransactionStmt',
  Admin: `VariableSetStmt DiscardStmt CopyStmt LoadStmt GrantStmt GrantRoleStmt AlterDefaultPrivilegesStmt CreateRoleStmt
    AlterRoleStmt AlterRoleSetStmt DropRoleStmt ReassignOwnedStmt DropOwnedStmt AlterOwnerStmt CreatedbStmt DropdbStmt
    AlterDatabaseStmt AlterDatabaseSetStmt AlterSystemStmt CreateTableSpaceStmt DropTableSpaceStmt CreateExtensionStmt
    AlterExtensionStmt CreatePLangStmt CreateFdwStmt CreateForeignServerStmt CreateForeignTableStmt
    CreateUserMappingStmt ImportForeignSchemaStmt CreateEventTrigStmt CreatePublicationStmt CreateSubscriptionStmt
    VacuumStmt ClusterStmt ReindexStmt CheckPointStmt LockStmt ListenStmt NotifyStmt UnlistenStmt`,
})

/** Nodes that read stored values: the engine itself requires SELECT for them. */
const READING_NODES = new Set([
  'ColumnRef',
  'fromClause',
  'usingClause',
  'returningList',
  'returningClause',
  'MergeStmt',
  'CurrentOfExpr',
])
const WRITES = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'])
/** Functions that access the server, other sessions or other servers. The logins lack most of these rights anyway. */
const SERVER_FUNCTIONS =
  /^(pg_read_|pg_ls_|pg_stat_file|pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_rotate|pg_switch_|pg_create_|pg_drop_|pg_logical_|pg_replication|pg_promote|set_config$|lo_|dblink|query_to_xml|cursor_to_xml|table_to_xml|schema_to_xml|database_to_xml|ts_stat$|ts_rewrite$|crosstab|connectby$|xpath_table$|pg_file_|pg_log_backend|pg_stat_reset|pg_backup_|pg_start_backup|pg_stop_backup|pg_wal_replay|pg_import_|gin_clean|lo(read|write|open|create?|unlink|lseek|tell)$)/i

/** Functions that block other sessions, even after the query, or change what they see. */
const BLOCKING_FUNCTIONS = /^(pg_sleep|pg_advisory_|pg_try_advisory_|pg_notify$|pg_export_snapshot$|nextval$|setval$)/i

type Node = Record<string, unknown>

/** Loads PostgreSQL's own parser. */
export async function loadPostgresClassifier(): Promise<(text: string) => StatementClassification> {
  await loadModule()
  return judge
}

function judge(text: string): StatementClassification {
  let statements: Node[]
  try {
    statements = (parseSync(text) as unknown as { stmts?: Node[] }).stmts ?? []
  } catch {
    return refusedStatement('Unknown', 'It cannot be read as SQL of PostgreSQL.')
  }
  const [only, ...more] = statements
  if (only === undefined || more.length > 0) return refusedStatement('Unknown', 'It cannot be read as one statement.')
  return judgeNode(only.stmt as Node)
}

function judgeNode(statement: Node): StatementClassification {
  const [name = '', body] = Object.entries(statement)[0] ?? []
  if (name === 'ExplainStmt') return judgeExplain(body as Node)
  const found = findInTree(statement)
  const kind = KINDS[name]
  const tables = [...found.tables].filter((table) => !found.named.has(table)).sort()
  if (found.function !== undefined)
    return refusedStatement('Admin', `The function ${found.function} is for administrators.`, tables)
  if (kind === undefined) return refusedStatement('Unknown', 'Statements of this kind are not supported.', tables)
  if (kind === 'Admin' || found.grants || isOfServer(body as Node))
    return refusedStatement('Admin', 'It administers the server.', tables)
  if (kind === 'Transaction')
    return refusedStatement(
      'Transaction',
      'A batch is one transaction of its own, which it cannot end or divide.',
      tables,
    )
  return { ...toClassification(name, kind, found), tables }
}

/** Objects of the server or with access to others, as named by statements such as rename, drop and comment. */
const SERVER_OBJECTS =
  /^OBJECT_(ROLE|DATABASE|TABLESPACE|FDW|FOREIGN_SERVER|USER_MAPPING|EVENT_TRIGGER|PUBLICATION|SUBSCRIPTION|LANGUAGE|EXTENSION|ACCESS_METHOD|PARAMETER_ACL|LARGEOBJECT)$/

function isOfServer({ renameType, removeType, objtype, objectType }: Node): boolean {
  return [renameType, removeType, objtype, objectType].some((type) => SERVER_OBJECTS.test(String(type)))
}

function judgeExplain({ query, options }: Node): StatementClassification {
  const inner = judgeNode(query as Node)
  const runs = JSON.stringify(options ?? []).includes('"analyze"')
  return runs || inner.refusal !== undefined ? inner : { ...inner, kind: 'Read', isDestructive: false }
}

/** Through these, a new table can reveal other data: expressions (which may call anything), partitions, keys. */
const REVEALING_NODES = new Set([
  'raw_expr',
  'raw_default',
  'partbound',
  'partspec',
  'pktable',
  'inhRelations',
  'ofTypename',
  'TableLikeClause',
])

type TreeFindings = {
  tables: Set<string>
  named: Set<string>
  writes: boolean
  affectsAllRows: boolean
  locks: boolean
  creates: boolean
  drops: boolean
  isRevealing: boolean
  reads: boolean
  grants: boolean
  function: string | undefined
}

function toClassification(
  name: string,
  kind: StatementKind,
  found: TreeFindings,
): Omit<StatementClassification, 'tables'> {
  if (kind === 'Ddl' || found.creates) {
    const removes = name === 'DropStmt' || name === 'TruncateStmt'
    const isPlain = removes || (name === 'CreateStmt' && !found.isRevealing)
    return { kind: 'Ddl', isDestructive: removes || found.drops || found.affectsAllRows, reads: !isPlain }
  }
  const isRead = kind === 'Read'
  return {
    kind: found.writes || found.locks ? 'Write' : kind,
    isDestructive: found.affectsAllRows,
    reads: isRead || found.reads,
  }
}

/** Walks the whole tree, because any WITH may contain a write, and function calls may be anywhere. */
function findInTree(root: Node): TreeFindings {
  const found: TreeFindings = {
    tables: new Set(),
    named: new Set(),
    writes: false,
    affectsAllRows: false,
    locks: false,
    creates: false,
    drops: false,
    isRevealing: false,
    reads: false,
    grants: false,
    function: undefined,
  }
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const node = pending.pop()
    if (typeof node !== 'object' || node === null) continue
    for (const [name, child] of Object.entries(node as Node)) {
      inspectNode(name, child as Node, found)
      pending.push(child)
    }
  }
  return found
}

function inspectNode(name: string, child: Node, found: TreeFindings): void {
  if (WRITES.has(name)) found.writes = true
  if ((name === 'UpdateStmt' || name === 'DeleteStmt') && child.whereClause === undefined) found.affectsAllRows = true
  if (name === 'lockingClause') found.locks = true
  if (name === 'GrantStmt') found.grants = true
  if (name === 'intoClause') found.creates = true
  if (name === 'subtype' && String(child).startsWith('AT_Drop')) found.drops = true
  if (REVEALING_NODES.has(name)) found.isRevealing = true
  if (READING_NODES.has(name)) found.reads = true
  if (name === 'relation' || name === 'RangeVar') recordTable(child, found)
  if (name === 'CommonTableExpr') found.named.add(String(child.ctename))
  if (name === 'FuncCall') {
    const words = (child.funcname as { String?: { sval?: string } }[] | undefined) ?? []
    const [called = '', schema] = words.map(({ String: word }) => word?.sval ?? '').reverse()
    if (mayReadStoredData(called, schema)) found.reads = true
    if (SERVER_FUNCTIONS.test(called)) found.function = called
    if (BLOCKING_FUNCTIONS.test(called)) found.locks = true
  }
}

function recordTable({ relname, schemaname }: Node, found: TreeFindings): void {
  if (typeof relname !== 'string') return
  found.tables.add(typeof schemaname === 'string' ? `${schemaname}.${relname}` : relname)
}
