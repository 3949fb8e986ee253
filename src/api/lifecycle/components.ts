import { z } from 'zod'
import { neededValues, shownValues } from '../../contracts/componentValues.ts'
import { COMPONENT_KINDS, COMPONENT_STATES, configKey, releasesOf, semverSortKey } from '../../contracts/lifecycle.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import { DateTime } from '../resources/dto.ts'
import { enumeration, flag, text } from '../resources/paging.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { componentOf, readInventory } from './inventory.ts'
import { ComponentDto, ComponentSummaryDto, currentRelease, ReleaseDto, releaseDto, summaryOf } from './records.ts'

const view = action('lifecycle/view')
const ONE = '/lifecycle/components/{name}'
const RELEASES_SHOWN = 20

const InstallSpecDto = namedRecord('InstallSpecDto', {
  component: z.string(),
  version: z.string().describe('The newest, or the installed one if there is none to install'),
  namespace: z.string(),
  values: z.record(z.string(), z.unknown()).describe('What the chart gets, with *** for every secret'),
  required: z.array(
    namedRecord('InstallValue', {
      key: z.string(),
      title: z.string(),
      type: z.enum(['String', 'Integer', 'Boolean']),
      isSecret: z.boolean(),
      isSet: z.boolean(),
      description: z.string(),
      default: z.string().nullable(),
    }),
  ),
  crds: z.array(z.string()),
  dependsOn: z.array(z.string()),
})

const FeedRefreshResult = namedRecord('FeedRefreshResult', {
  readAt: DateTime,
  components: z.int(),
  newReleases: z.int(),
  problems: z.array(namedRecord('FeedProblem', { component: z.string(), message: z.string() })),
})

async function show(context: Context<'name'>) {
  const inventory = await readInventory(context)
  const component = componentOf(inventory, context.parameters.name)
  const { entries: held } = await context.services.lifecycle.configuration.read()
  const releases = releasesOf(inventory.releases, component.metadata.name).slice(0, RELEASES_SHOWN)
  const dto = {
    ...summaryOf(component, inventory),
    releases: releases.map((release) => releaseDto(release, inventory)),
    values: shownValues(component, currentRelease(component, inventory), held),
  }
  return ok(dto, { etag: etagOf(component) })
}

/** Returns what an installation of the newest version needs. */
async function installSpec(context: Context<'name'>) {
  const inventory = await readInventory(context)
  const component = componentOf(inventory, context.parameters.name)
  const { entries: held } = await context.services.lifecycle.configuration.read()
  const { metadata, spec, status } = component
  const release = currentRelease(component, { ...inventory, components: [] })
  return ok({
    component: metadata.name,
    version: release?.spec.version ?? spec.version ?? status?.installedVersion ?? '',
    namespace: spec.namespace,
    values: shownValues(component, release, held),
    required: neededValues(component, release).map((needed) => ({
      ...needed,
      isSet: (held[configKey(metadata.name, needed.key)] ?? '') !== '',
      default: (needed.isSecret ? undefined : needed.default) ?? null,
    })),
    crds: [...spec.crds],
    dependsOn: spec.dependsOn.map(({ name }) => name),
  })
}

/** Milliseconds. The controllers query the registries, a few at a time. */
const REFRESH_TIMEOUT_MS = 20_000

/** Names the registry and the cause, which tells whether a retry may help. */
function unreachable(problems: readonly string[]): PlatformError {
  const [first = ''] = problems
  const message = `No chart registry answered. ${first} Set chartRegistryUrl to use a mirror.`
  return new PlatformError('FeedUnreachable', message, { problems: problems.slice(0, 50) })
}

/** Reads the feeds of all components and reports the result. @throws PlatformError FeedUnreachable */
async function refresh(context: Context) {
  const { services, caller } = context
  const { namespace } = atPlatform()
  // Milliseconds, so that two requests within a second differ.
  const requestedAt = new Date(services.clock.now()).toISOString()
  const components = (await services.records.list(PlatformComponent, { namespace }, { fresh: true })).filter(
    ({ spec }) => spec.chart !== undefined,
  )
  for (const { metadata } of components) {
    const change = ({ spec }: { spec: object }) => ({ ...spec, refreshRequestedAt: requestedAt })
    await services.records.update(PlatformComponent, { namespace, name: metadata.name }, { caller, change })
  }
  const feeds = () =>
    components.map(({ metadata: { name } }) => {
      const feed = services.records.peek(PlatformComponent, { namespace, name })?.status?.feed
      return { component: name, feed, isRead: Date.parse(feed?.requestedAt ?? '') >= Date.parse(requestedAt) }
    })
  await pollUntilChanged(context, async () => feeds().every(({ isRead }) => isRead), REFRESH_TIMEOUT_MS)
  const read = feeds()
  if (read.length > 0 && read.every(({ isRead, feed }) => isRead && feed?.isUnreachable === true))
    throw unreachable(read.flatMap(({ component, feed }) => `${component}: ${feed?.problem ?? 'no answer'}`))
  return ok({
    readAt: timestamp(Date.parse(requestedAt)),
    components: read.filter(({ isRead }) => isRead).length,
    newReleases: read.reduce((sum, { feed, isRead }) => sum + (isRead ? (feed?.found ?? 0) : 0), 0),
    problems: read.flatMap(({ component, feed, isRead }) => {
      const message = isRead ? feed?.problem : 'It is still being read.'
      return message === undefined ? [] : [{ component, message }]
    }),
  })
}

const orderOfRelease = (row: unknown) => semverSortKey((row as z.output<typeof ReleaseDto>).version)

export const componentRoutes: readonly RouteDraft[] = [
  listRoute('/lifecycle/components', {
    auth: view,
    summary: 'The components of the platform',
    dto: ComponentSummaryDto,
    columns: {
      name: text('Name', { isSearched: true }),
      title: text('Title', { isSearched: true, isSorted: false, isFiltered: false }),
      kind: enumeration('Kind', COMPONENT_KINDS),
      status: enumeration('Status', COMPONENT_STATES, { isSorted: false }),
      isOutdated: flag('Outdated'),
      isInstalled: flag('Installed'),
    },
    sort: 'name',
    id: 'name',
    rows: async (context) => {
      const inventory = await readInventory(context)
      return inventory.components.map((component) => summaryOf(component, inventory))
    },
  }),
  route('GET', ONE, { auth: view, summary: 'A component with its releases', reply: ComponentDto, handler: show }),
  route('GET', `${ONE}/installspec`, {
    auth: view,
    summary: 'What an installation of it needs',
    reply: InstallSpecDto,
    handler: installSpec,
  }),
  route('POST', '/lifecycle/components/refresh', {
    auth: view,
    summary: 'Read the release feed now',
    reply: FeedRefreshResult,
    answers: [200, 502],
    handler: refresh,
  }),
  listRoute('/lifecycle/releases', {
    auth: view,
    summary: 'Releases of a component, newest first',
    query: z.object({ component: z.string().min(1).max(128).describe('Name of the component') }),
    dto: ReleaseDto,
    columns: {
      // As text, 1.10.0 would sort before 1.9.0.
      version: text('Version', { isFiltered: false, of: orderOfRelease }),
      isInstalled: flag('Installed'),
      isSchemaBreaking: flag('Schema-breaking'),
    },
    sort: '-version',
    id: 'version',
    rows: async (context) => {
      const inventory = await readInventory(context)
      const component = componentOf(inventory, context.query.component)
      return releasesOf(inventory.releases, component.metadata.name).map((release) => releaseDto(release, inventory))
    },
  }),
]
