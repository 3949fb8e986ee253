import type { z } from 'zod'
import {
  type DatabaseCluster,
  findSuspension,
  isArchiving,
  isUnderPressure,
} from '../../contracts/platformbackups/archives.ts'
import { backupConditions, overallStateOf } from '../../contracts/platformbackups/conditions.ts'
import { relationalNames } from '../../contracts/relational.ts'
import { timestamp } from '../../core/clock.ts'
import { firstReason, PlatformError } from '../../core/errors.ts'
import { keyOf } from '../../core/object.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import {
  ArchivingClusterDto,
  ArchivingClusterRequest,
  archiveIn,
  archivingDto,
  BackupConditionsDto,
  type ObservedDatabase,
} from './record.ts'
import { type BackupSettings, changeSettings, storedSettings } from './settings.ts'

type Request = Context<string, unknown, z.output<typeof ArchivingClusterRequest>>

const errors = 'problem' as const

/** Valid object names only: other text must not become part of a path. */
const isName = (text: string) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(text)

/** @throws PlatformError invalid-cluster, cluster-not-found */
async function findDatabase(context: Request): Promise<ObservedDatabase> {
  const { services, body } = context
  const [namespace, name] = [body.namespace ?? '', body.name ?? '']
  const emptyField = Object.entries({ namespace, name }).find(([, value]) => value === '')?.[0]
  if (emptyField !== undefined) {
    const errors = [{ field: emptyField, message: 'is required' }]
    throw new PlatformError('invalid-cluster', firstReason(errors), { errors })
  }
  const { cluster } = services.platformBackups
  const found = isName(namespace) && isName(name) ? await cluster.database({ namespace, name }) : undefined
  if (found === undefined) {
    const message = `There is no CloudNativePG database "${name.slice(0, 64)}" in namespace "${namespace.slice(0, 64)}".`
    throw new PlatformError('cluster-not-found', message)
  }
  const [observed] = await observeDatabases(context, [found], await storedSettings(context))
  return observed as ObservedDatabase
}

async function observeDatabases(
  { services }: Context,
  clusters: readonly DatabaseCluster[],
  settings: BackupSettings | undefined,
): Promise<ObservedDatabase[]> {
  const { cluster, logs } = services.platformBackups
  const [statistics, stores] = await Promise.all([logs.all(), cluster.stores()])
  const owners = new Map(
    services.records
      .peekAll(RelationalCluster)
      .map((owner) => [`${owner.metadata.namespace}/${relationalNames(owner.metadata.name).cluster}`, owner]),
  )
  return clusters.map((each) => {
    const annotated = owners.get(keyOf(each)) ?? each
    const suspension = findSuspension(settings?.spec.suspendedArchives ?? [], each, annotated)
    return { cluster: each, annotated, suspension, statistics: statistics.get(keyOf(each)), stores }
  })
}

/** @throws PlatformError archiving-not-configured, archiving-healthy */
async function suspend(context: Request) {
  const { services, caller } = context
  const observed = await findDatabase(context)
  const { namespace = '', name } = observed.cluster.metadata
  if (!isArchiving(observed.cluster))
    throw new PlatformError(
      'archiving-not-configured',
      `Database "${name}" archives nothing: there is nothing to suspend.`,
    )
  if (archiveIn(observed).state === 'Suspended')
    throw new PlatformError('archiving-healthy', `The archive of database "${name}" is already suspended.`)
  if (!isUnderPressure(observed.cluster, observed.statistics)) {
    const message = `The log of database "${name}" does not fill its disk: suspending it would leave a gap without need.`
    throw new PlatformError('archiving-healthy', message)
  }
  const suspension = {
    ...{ namespace, name },
    suspendedAt: timestamp(services.clock.now()),
    suspendedBy: caller.principalId,
  }
  const existing = new Set((await services.platformBackups.cluster.databases()).map(keyOf))
  // The list is bounded, and nobody would resume a deleted database.
  const exists = (one: { namespace: string; name: string }) => existing.has(placeOf(one))
  await changeSettings(context, ({ spec }) => ({
    ...spec,
    suspendedArchives: [...withoutEntry(spec.suspendedArchives, suspension).filter(exists), suspension],
  }))
  return ok(archivingDto({ ...observed, suspension }))
}

function withoutEntry<E extends { namespace: string; name: string }>(
  list: readonly E[],
  one: { namespace: string; name: string },
) {
  return list.filter(({ namespace, name }) => namespace !== one.namespace || name !== one.name)
}

/** @throws PlatformError archiving-not-suspended */
async function resume(context: Request) {
  const observed = await findDatabase(context)
  const { namespace = '', name } = observed.cluster.metadata
  const isPending = archiveIn({ ...observed, suspension: undefined }).state === 'ResumePending'
  if (observed.suspension === undefined && !isPending) {
    const message = `The archive of database "${name}" was not suspended here: there is nothing to resume.`
    throw new PlatformError('archiving-not-suspended', message)
  }
  if (observed.suspension !== undefined)
    await changeSettings(context, ({ spec }) => ({
      ...spec,
      suspendedArchives: withoutEntry(spec.suspendedArchives, { namespace, name }),
    }))
  return ok({ ...archivingDto({ ...observed, suspension: undefined }), archiving: 'ResumePending' as const })
}

async function conditions(context: Context) {
  const { services } = context
  const { cluster } = services.platformBackups
  const now = services.clock.now()
  const [settings, location, schedule, backups, definitions, restores, databases] = await Promise.all([
    storedSettings(context),
    cluster.location(),
    cluster.schedule(),
    cluster.backups(),
    cluster.definitions(),
    cluster.restores(),
    cluster.databases(),
  ])
  const found = backupConditions({ now, location, schedule, backups, definitions, restores })
  const shown = (await observeDatabases(context, databases, settings)).map(archivingDto)
  const states = shown.map(({ archiving }) => archiving)
  return ok({
    observedAt: timestamp(now),
    overall: overallStateOf(found, states),
    conditions: found,
    databases: shown.sort((one, other) => placeOf(one).localeCompare(placeOf(other))),
  })
}

const placeOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`

const archivingRoute = (verb: 'suspend' | 'resume', summary: string, handler: typeof suspend) =>
  route('POST', `/lifecycle/backups/archiving/${verb}`, {
    auth: action('lifecycle/backupsManage'),
    summary,
    body: ArchivingClusterRequest,
    example: { namespace: 'shop-0123456789', name: 'relc-orders' },
    reply: ArchivingClusterDto,
    errors,
    handler,
  })

export const archivingRoutes: readonly RouteDraft[] = [
  archivingRoute('suspend', 'Stops the archive of a database whose log fills its disk', suspend),
  archivingRoute('resume', 'Resumes a suspended archive', resume),
  route('GET', '/lifecycle/backups/conditions', {
    auth: action('lifecycle/view'),
    summary: 'Whether the backups can be relied on, and the archives of databases',
    reply: BackupConditionsDto,
    errors,
    handler: conditions,
  }),
]
