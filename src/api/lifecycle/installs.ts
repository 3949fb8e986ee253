import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { missingValues, type NeededValue, neededValues, valueObstacle } from '../../contracts/componentValues.ts'
import { configKey, INSTALL_STATES, missingDependencies, newestRelease } from '../../contracts/lifecycle.ts'
import { timestamp } from '../../core/clock.ts'
import { type FieldError, PlatformError, refusedFields } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { ComponentInstall, Version } from '../../crds/lifecycle.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import { componentOf, platformObjectId, readInventory } from './inventory.ts'
import { LIFECYCLE_LOCK, refuseWhileBusy } from './lifecycleLock.ts'
import {
  type ComponentRecord,
  canResume,
  InstallDto,
  type InstallRecord,
  installFields,
  type ReleaseRecord,
} from './records.ts'

const install = action('lifecycle/install')
const VALUE_MAX = 16_384

const StartInstallRequest = strictRecord('StartInstallRequest', {
  version: Version.nullish().describe('The newest if absent'),
  values: z
    .record(z.string().max(128), z.string().max(VALUE_MAX))
    .nullish()
    .describe('Of those that installspec names; kept for later installs and upgrades'),
  dryRun: z.boolean().nullish().describe('Only says whether it could be installed'),
})
type Body = z.output<typeof StartInstallRequest>

const installs = collection(ComponentInstall, {
  path: '/lifecycle/installs',
  item: 'installId',
  noun: 'Install',
  parent: () => atPlatform(),
  may: { read: action('lifecycle/view'), write: install },
  dto: InstallDto,
  related: (_objects, context) => readInventory(context),
  toDto: (object, { related: { releases } }) =>
    installFields(object, newestRelease(releases, object.spec.component)?.spec.version ?? ''),
  columns: {
    startedAt: dateTime('Started'),
    component: text('Component', { isSearched: true }),
    status: enumeration('Status', INSTALL_STATES),
  },
  sort: '-startedAt',
  list: { summary: 'Installations and repairs of components, newest first' },
  get: { summary: 'An installation or repair' },
})

/** Returns the requested release from the feed. @throws PlatformError BAD_REQUEST */
function releaseFor(
  { metadata }: ComponentRecord,
  releases: readonly ReleaseRecord[],
  version: string | null | undefined,
): ReleaseRecord {
  const { name } = metadata
  const found = version
    ? releases.find(({ spec }) => spec.component === name && spec.version === version)
    : newestRelease(releases, name)
  if (found !== undefined) return found
  const message = version ? 'is not a release of this component' : 'has no release yet: read the release feed first'
  throw refusedFields([{ field: 'version', message }])
}

/** @throws PlatformError BAD_REQUEST */
function refuseUnknownValues(values: Readonly<Record<string, string>>, needed: readonly NeededValue[]): void {
  const errors = Object.entries(values).flatMap(([key, value]): FieldError[] => {
    const known = needed.find((one) => one.key === key)
    const message = known === undefined ? 'is not a value of this component' : valueObstacle(value, known.type)
    return message === undefined ? [] : [{ field: `values.${key}`, message }]
  })
  if (errors.length > 0) throw refusedFields(errors)
}

/** @throws PlatformError BAD_REQUEST, AlreadyInstalled, DependencyMissing, ValueMissing, RolloutBusy */
async function start(context: Context<'name', unknown, Body | undefined>) {
  const { services, caller, body, parameters } = context
  const inventory = await readInventory({ ...context, fresh: true })
  const component = componentOf(inventory, parameters.name)
  const { name } = component.metadata
  const installed = component.status?.installedVersion
  if (installed !== undefined) {
    const message = `Component "${name}" is already installed in version ${installed}: plan a rollout to change that.`
    throw new PlatformError('AlreadyInstalled', message)
  }
  const values = body?.values ?? {}
  const release = releaseFor(component, inventory.releases, body?.version)
  refuseUnknownValues(values, neededValues(component, release))
  const missing = missingDependencies(component.spec.dependsOn, inventory.components)
  if (missing.length > 0) {
    const message = `Component "${name}" needs others that are not installed: ${missing.join(', ')}.`
    throw new PlatformError('DependencyMissing', message, { missing })
  }
  const entries = Object.fromEntries(Object.entries(values).map(([key, value]) => [configKey(name, key), value]))
  const held = { ...(await services.lifecycle.configuration.read()).entries, ...entries }
  const keys = missingValues(component, release, held)
  if (keys.length > 0) {
    const message = `Component "${name}" needs values that are not set: ${keys.join(', ')}.`
    throw new PlatformError('ValueMissing', message, { keys })
  }
  const spec = {
    component: name,
    kind: 'Install' as const,
    version: release.spec.version,
    startedBy: caller.principalId,
  }
  if (body?.dryRun === true) {
    await refuseWhileBusy(context)
    return ok(dryRunDto(context, spec))
  }
  return createInstall(context, spec, async () => {
    if (Object.keys(entries).length > 0) await services.lifecycle.configuration.put(entries)
  })
}

type NewInstall = { component: string; kind: 'Install' | 'Repair'; version?: string; startedBy: string }

/** Creates the install unless something else is in progress. @throws PlatformError RolloutBusy */
async function createInstall(context: Context, spec: NewInstall, before: () => Promise<void> = async () => {}) {
  const { services, caller } = context
  const object = await withChangeLock(services, LIFECYCLE_LOCK, async () => {
    await refuseWhileBusy(context)
    await before()
    const { namespace } = atPlatform()
    return (await services.records.create(ComponentInstall, { namespace, name: randomUUID(), spec, caller })).object
  })
  return accepted(dtoOf(object, spec.version ?? ''), { etag: etagOf(object) })
}

function dtoOf(object: InstallRecord, version: string): z.output<typeof InstallDto> {
  return { id: platformObjectId(ComponentInstall, object.metadata), ...installFields(object, version) }
}

/** Returns the record that a dry run shows. */
function dryRunDto({ services }: Context, spec: NewInstall): z.output<typeof InstallDto> {
  const metadata = {
    name: randomUUID(),
    namespace: atPlatform().namespace,
    creationTimestamp: timestamp(services.clock.now()),
  }
  const { apiVersion, kind } = ComponentInstall
  return dtoOf({ apiVersion, kind, metadata, spec: { ...spec, requests: {} } } as InstallRecord, spec.version ?? '')
}

/** @throws PlatformError NotInstalled, RolloutBusy */
async function repair(context: Context<'name'>) {
  const component = componentOf(await readInventory({ ...context, fresh: true }), context.parameters.name)
  const { name } = component.metadata
  const version = component.spec.version ?? component.status?.installedVersion
  if (component.status?.installedVersion === undefined || component.spec.chart === undefined)
    throw new PlatformError('NotInstalled', `Component "${name}" is not installed: there is nothing to repair.`)
  if (component.status.isOutside === true) {
    const message = `Component "${name}" runs outside the cluster, and no chart installed it: there is nothing to repair.`
    throw new PlatformError('NotInstalled', message)
  }
  const spec = { component: name, kind: 'Repair' as const, startedBy: context.caller.principalId }
  return createInstall(context, spec).then((answer) => ({
    ...answer,
    body: { ...answer.body, version: version ?? '' },
  }))
}

/** @throws PlatformError NotResumable, RolloutBusy */
async function resume(context: Context<'installId'>) {
  const { services, caller, ifMatch } = context
  const { object: found } = await installs.find(context)
  const object = await withChangeLock(services, LIFECYCLE_LOCK, async () => {
    await refuseWhileBusy(context, found.metadata.name)
    const resumeAt = new Date(services.clock.now()).toISOString()
    const written = await services.records.update(ComponentInstall, refOf(found), {
      caller,
      ifMatch,
      change: ({ spec, status }) => {
        if (!canResume(status?.state))
          throw new PlatformError('NotResumable', 'It can be resumed only while it is Paused or Failed.')
        return { ...spec, requests: { ...spec.requests, resumeAt } }
      },
    })
    return written.object
  })
  return accepted(dtoOf(object, object.spec.version ?? ''), { etag: etagOf(object) })
}

export const installRoutes: readonly RouteDraft[] = [
  ...installs.routes(),
  route('POST', '/lifecycle/components/{name}/install', {
    auth: install,
    summary: 'Install a component',
    body: StartInstallRequest,
    isBodyOptional: true,
    example: { version: '1.20.0', values: { 'auth.password': 'correct horse' } },
    reply: InstallDto,
    handler: start as never,
  }),
  route('POST', '/lifecycle/components/{name}/repair', {
    auth: install,
    summary: 'Install the current version of a component again',
    reply: InstallDto,
    handler: repair as never,
  }),
  route('POST', '/lifecycle/installs/{installId}/resume', {
    auth: install,
    isHeld: true,
    summary: 'Resume an installation',
    reply: InstallDto,
    handler: resume as never,
  }),
]
