import { caSecretName, engineHost, RELATIONAL_PORT, relationalNames } from '../../contracts/relational.ts'
import { PlatformError } from '../../core/errors.ts'
import { secretText } from '../../core/secretData.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import type { SqlLevel } from '../../editor/classification.ts'
import { notYetCreated } from '../databases/databaseAccess.ts'
import { type EditorDatabase, type EditorEngine, historyAt } from '../databases/editor/editorDatabase.ts'
import { editorRoutes } from '../databases/editor/routes.ts'
import type { Context, Services } from '../http/context.ts'
import type { RouteDraft } from '../http/route.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'
import { loginOf } from './access.ts'
import type { RelationalObject } from './record.ts'

/**
 * The interface defines actions for rows and schemas only once, for SQL databases of all areas. Changing the schema
 * changes the database, so it needs the right to do that.
 */
const ACTIONS = {
  reader: 'sqlcluster/dataRead',
  writer: 'sqlcluster/dataWrite',
  owner: 'relationalcluster/write',
} as const

/** The editor of relational databases. The interface has its history only. */
export const relationalEditorRoutes: readonly RouteDraft[] = editorRoutes({
  base: '{RG}/relationalclusters/{name}',
  actions: {
    read: 'relationalcluster/read',
    schemaRead: 'sqlcluster/schemaRead',
    dataRead: ACTIONS.reader,
    dataWrite: ACTIONS.writer,
  },
  find: async (context) => editorDatabase((await findResource(RelationalCluster, context)).object, context),
})

export function historyOf(object: RelationalObject, { relational }: Services): EditorDatabase['history'] {
  const { name } = object.metadata
  return historyAt(RelationalCluster, object, {
    blobs: relational.blobs,
    name: relationalNames(name).history,
  })
}

/** Returns the database with exactly this name for the editor, even if its connection Services lead to another. */
export function editorDatabase(object: RelationalObject, { services }: Pick<Context, 'services'>): EditorDatabase {
  return {
    dialect: 'postgresql',
    database: databaseOf(object),
    actionOf: (level: SqlLevel) => ACTIONS[level],
    history: historyOf(object, services),
    open: () => openEditor(object, services),
  }
}

const databaseOf = ({ spec, status }: RelationalObject) => status?.origin?.databaseName ?? spec.databaseName

async function openEditor(object: RelationalObject, services: Services): Promise<EditorEngine> {
  const { namespace = '', name } = object.metadata
  if (!object.spec.running) throw new PlatformError('INSTANCE_STOPPED', `"${name}" is stopped; start it first.`)
  const { engine, secrets } = services.relational
  const names = relationalNames(name)
  const clusterId = otherClusterOf(services, object.spec.clusterId)
  const pod = object.status?.currentPrimary ?? ''
  const [[owner, writer, reader], authority] = await Promise.all([
    Promise.all(
      [names.owner, names.writer, names.reader].map(async (each) =>
        loginOf(await secrets.read(namespace, each, clusterId)),
      ),
    ),
    secrets.read(namespace, caSecretName(names.cluster), clusterId),
  ])
  if (owner === undefined || writer === undefined || reader === undefined) throw notYetCreated(object, 'The login')
  const logins = { owner, writer, reader }
  return {
    engine,
    target: (level: SqlLevel) => ({
      dialect: 'postgresql',
      host: engineHost(namespace, name),
      port: RELATIONAL_PORT,
      database: databaseOf(object),
      user: logins[level].username,
      password: logins[level].password,
      certificateAuthority: secretText(authority, 'ca.crt') ?? '',
      ...(clusterId !== undefined && { through: { clusterId, namespace, pod } }),
    }),
  }
}
