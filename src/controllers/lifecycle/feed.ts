import { FeedError } from '../../adapters/releases/port.ts'
import { compareSemver, releaseName } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { ComponentRelease, type PlatformComponent } from '../../crds/lifecycle.ts'
import { releaseSpec } from '../../desired/lifecycle/release.ts'
import type { ComponentPass, LifecycleOptions } from './types.ts'

type ReleaseObject = ComponentRelease & KubeObject
type Feed = NonNullable<NonNullable<PlatformComponent['status']>['feed']>

/** Number of newest versions that are recorded; rollouts skip none that they could need. */
const MAX_RECORDED_RELEASES = 20
/** Maximum recorded versions per component, besides those in use. */
const MAX_KEPT_RELEASES = 50
/** Number of versions that are fetched concurrently. */
const FETCH_CONCURRENCY = 5

/** Reads the chart's versions when due or requested, and records new ones. */
export function readFeed({ feed, feedInterval }: LifecycleOptions) {
  return async function readFeed(pass: ComponentPass): Promise<Outcome> {
    const { spec, status } = pass.object
    if (spec.chart === undefined) return done()
    const remainingMs = feedDueIn(spec.refreshRequestedAt, status?.feed, feedInterval, pass.clock.now())
    if (remainingMs === undefined) return done()
    if (remainingMs > 0) return done({ after: remainingMs })
    const tried = { attemptedAt: pass.now, requestedAt: spec.refreshRequestedAt }
    try {
      const counts = await recordNew(pass, spec.chart.url, feed)
      pass.report({ feed: { readAt: pass.now, ...tried, ...counts } })
    } catch (error) {
      if (!(error instanceof FeedError)) throw error
      const { reason, message } = error
      const problem = { problem: message.slice(0, 1024), isUnreachable: reason === 'Unreachable' }
      pass.report({
        feed: { readAt: status?.feed?.readAt, known: status?.feed?.known, ...tried, found: 0, ...problem },
      })
    }
    return done({ after: feedInterval })
  }
}

/** Returns the milliseconds until the feed is read; undefined if it never is. */
export function feedDueIn(
  requestedAt: string | undefined,
  feed: Feed | undefined,
  interval: number | undefined,
  now: number,
): number | undefined {
  if (requestedAt !== feed?.requestedAt && requestedAt !== undefined) return 0
  if (interval === undefined) return undefined
  if (feed?.attemptedAt === undefined) return 0
  return Math.max(0, Date.parse(feed.attemptedAt) + interval - now)
}

async function recordNew(pass: ComponentPass, url: string, feed: LifecycleOptions['feed']) {
  const { name } = pass.object.metadata
  const { version } = pass.object.spec
  const held = pass.recordChildren.owned<ReleaseObject>(ComponentRelease.resource)
  const recorded = new Set(held.map(({ spec }) => spec.version))
  const versions = await feed.versions(url)
  const wanted = versions
    .filter((each, index) => index < MAX_RECORDED_RELEASES || each === version)
    .filter((each) => !recorded.has(each))
  let known = held.length
  for (let offset = 0; offset < wanted.length; offset += FETCH_CONCURRENCY) {
    const made = await Promise.all(
      wanted.slice(offset, offset + FETCH_CONCURRENCY).map((each) => recordOne(pass, url, each, feed)),
    )
    known += made.filter(Boolean).length
  }
  // Include versions recorded by a process that died before it reported them.
  const found = Math.max(0, known - (pass.object.status?.feed?.known ?? 0))
  known -= await removeOld(pass, held)
  pass.log.debug({ component: name, versions: versions.length, found }, 'The release feed was read.')
  return { found, known }
}

async function recordOne(
  pass: ComponentPass,
  url: string,
  version: string,
  feed: LifecycleOptions['feed'],
): Promise<boolean> {
  const component = pass.object.metadata.name
  const release = await feed.release(url, version)
  if (release === undefined) return false
  const { apiVersion, kind, resource } = ComponentRelease
  const metadata = { name: releaseName(component, version), namespace: SYSTEM_NAMESPACE }
  const made = await pass.recordChildren.create(
    { apiVersion, kind, metadata, spec: releaseSpec(component, release) },
    { resource },
  )
  return made !== undefined
}

async function removeOld(pass: ComponentPass, held: readonly ReleaseObject[]): Promise<number> {
  const { spec, status } = pass.object
  const newest = [...held].sort((one, other) => compareSemver(other.spec.version, one.spec.version))
  const isUsed = ({ spec: { version } }: ReleaseObject) =>
    version === spec.version || version === status?.installedVersion
  const old = newest.slice(MAX_KEPT_RELEASES).filter((one) => !isUsed(one))
  for (const release of old) {
    const { namespace, name } = refOf(release)
    await pass.recordChildren.remove(ComponentRelease.resource, namespace, name)
  }
  return old.length
}
