import {
  DEFAULT_RETENTION_POLICY,
  decideRetention,
  listRemovableDigests,
  type Pin,
  type StoredDigest,
} from '../../src/contracts/registry/retention.ts'
import { planSweep } from '../../src/contracts/registry/sweep.ts'
import type { SeededRandom } from './random.ts'

const DAY = 86_400_000
const HOUR = 3_600_000
/** A pusher asks for a token at least so often. */
const GRACE = HOUR
const REPOSITORIES = ['one', 'two', 'three']

type Manifest = {
  digest: string
  blobs: string[]
  references: string[]
  subject?: string
  pushedAt: number
  pulledAt?: number
}
type Place = {
  manifests: Map<string, Manifest>
  tags: Map<string, string>
  layers: Map<string, number>
  pins: (Omit<Pin, 'expiresAt'> & { until: number })[]
  running: Set<string>
  revisions: Set<string>
  tokenAt: number
}
/** A push whose manifest has not arrived yet: it relies on these blobs, and on these manifests for an index. */
type Upload = { repository: string; blobs: string[]; references: string[]; tag: string | undefined }

/**
 * A registry and its users as plain lists. What must stay is decided here one manifest at a time, without the tested
 * code.
 */
export function registryModel(random: SeededRandom) {
  let now = Date.parse('2026-01-01T00:00:00Z')
  let made = 0
  const blobs = new Map<string, number>()
  const places = new Map<string, Place>(
    REPOSITORIES.map((name) => [
      name,
      {
        manifests: new Map(),
        tags: new Map(),
        layers: new Map(),
        pins: [],
        running: new Set(),
        revisions: new Set(),
        tokenAt: Number.NEGATIVE_INFINITY,
      },
    ]),
  )
  const uploads: Upload[] = []
  const counts = { removed: 0, inUse: 0, inFlight: 0 }
  const any = () => random.pick([...places.keys()])
  const at = (name: string) => places.get(name) as Place
  const digests = (place: Place) => [...place.manifests.keys()]

  /** Uploads a blob, finds an existing one, or mounts one from another repository. */
  function takeBlob(name: string): string {
    const place = at(name)
    const known = [...place.layers.keys()]
    if (known.length > 0 && random.chance(0.3)) return random.pick(known)
    const elsewhere = [...at(any()).layers.keys()]
    const blob = elsewhere.length > 0 && random.chance(0.3) ? random.pick(elsewhere) : `blob-${++made}`
    if (!blobs.has(blob)) blobs.set(blob, now)
    if (!place.layers.has(blob)) place.layers.set(blob, now)
    return blob
  }
  function begin(): void {
    const repository = any()
    const place = at(repository)
    place.tokenAt = now
    const references = digests(place).length > 0 && random.chance(0.2) ? [random.pick(digests(place))] : []
    const tag = random.chance(0.7) ? `v${random.below(6)}` : undefined
    uploads.push({ repository, blobs: [takeBlob(repository), takeBlob(repository)], references, tag })
  }
  function finish(): void {
    const upload = uploads.shift()
    if (upload === undefined) return
    const { repository, tag, references } = upload
    const place = at(repository)
    for (const blob of upload.blobs)
      if (!place.layers.has(blob) || !blobs.has(blob)) throw new Error(`${blob} of a push was removed`)
    for (const part of references)
      if (!place.manifests.has(part)) throw new Error(`${part} of a pushed index was removed`)
    const digest = `manifest-${++made}`
    blobs.set(digest, now)
    const about = random.chance(0.1) && digests(place).length > 0 ? { subject: random.pick(digests(place)) } : {}
    place.manifests.set(digest, { digest, blobs: upload.blobs, references, pushedAt: now, ...about })
    if (tag !== undefined) place.tags.set(tag, digest)
  }
  function change(name: string): void {
    const place = at(name)
    const all = digests(place)
    if (all.length === 0) return
    const digest = random.pick(all)
    const until = now + random.pick([DAY, 10 * DAY, 100 * DAY])
    const acts = [
      () => place.running.add(digest),
      () => place.running.delete(digest),
      () => place.revisions.add(digest),
      () => place.revisions.delete(digest),
      () => place.pins.push({ digests: [digest], until }),
      () => place.pins.push({ digests: [], keepLast: 1 + random.below(15), until }),
      () => place.pins.push({ digests: [], keepForDays: 1 + random.below(90), until }),
      () => place.pins.pop(),
      () => place.tags.set(`v${random.below(6)}`, digest),
      () => place.tags.delete(random.pick([...place.tags.keys(), 'none'])),
      () => Object.assign(place.manifests.get(digest) ?? {}, { pulledAt: now }),
    ]
    random.pick(acts)()
  }
  /** Time passes; pushers renew their tokens in time. */
  function pass(): void {
    now += random.pick([HOUR / 2, 5 * HOUR, 3 * DAY, 20 * DAY, 60 * DAY])
    for (const { repository } of uploads) at(repository).tokenAt = now - random.below(GRACE)
  }
  function stored(place: Place): StoredDigest[] {
    return [...place.manifests.values()].map(({ digest, references, subject, pushedAt, pulledAt }) => ({
      digest,
      tags: [...place.tags].filter(([, target]) => target === digest).map(([tag]) => tag),
      sizeBytes: 1,
      pushedAt: new Date(pushedAt).toISOString(),
      lastPulledAt: pulledAt === undefined ? undefined : new Date(pulledAt).toISOString(),
      references,
      subject,
    }))
  }
  const isBusy = (place: Place) => now - place.tokenAt < GRACE

  function run(): void {
    for (const place of places.values()) {
      const before = digests(place)
      const justified = new Set(before.filter((digest) => isJustified(place, digest)))
      if (!isBusy(place)) removeUnkept(place)
      checkManifests(place, before, justified)
    }
    sweep()
    counts.inFlight += uploads.length
  }
  function removeUnkept(place: Place): void {
    const none = { digests: new Set<string>(), tags: new Set<string>() }
    const uses = { running: { ...none, digests: place.running }, revisions: { ...none, digests: place.revisions } }
    const pins = place.pins.map(({ until, ...pin }) => ({ ...pin, expiresAt: new Date(until).toISOString() }))
    const verdicts = decideRetention({ digests: stored(place), pins, uses, policy: DEFAULT_RETENTION_POLICY, now })
    for (const { digest } of listRemovableDigests(verdicts)) {
      place.manifests.delete(digest)
      for (const [tag, target] of place.tags) if (target === digest) place.tags.delete(tag)
    }
  }
  function checkManifests(place: Place, before: readonly string[], justified: ReadonlySet<string>): void {
    for (const digest of before) {
      const isHere = place.manifests.has(digest)
      const mustStay = justified.has(digest) || isBusy(place)
      if (mustStay && !isHere) throw new Error(`${digest} is in use and was removed`)
      if (!mustStay && isHere) throw new Error(`${digest} is unused and was kept`)
    }
    counts.removed += before.length - digests(place).length
    counts.inUse += justified.size
  }
  function sweep(): void {
    const repositories = [...places].map(([name, place]) => ({
      name,
      manifests: [...place.manifests.values()].map(({ digest, blobs: own, references, subject }) => ({
        digest,
        references: [...own, ...references, ...(subject === undefined ? [] : [subject])],
      })),
      layers: [...place.layers].map(([digest, changedAt]) => ({ digest, changedAt })),
    }))
    const inventory = {
      repositories,
      blobs: [...blobs].map(([digest, changedAt]) => ({ digest, changedAt, sizeBytes: 1 })),
    }
    const busy = new Set([...places].filter(([, place]) => isBusy(place)).map(([name]) => name))
    const plan = planSweep(inventory, { busy, before: now - DAY })
    for (const { repository, digest } of plan.layers) at(repository).layers.delete(digest)
    for (const digest of plan.blobs) blobs.delete(digest)
    checkBlobs()
  }
  /** Everything that a manifest needs exists; everything that exists is needed, new, or in use by a push. */
  function checkBlobs(): void {
    const all = [...places.values()]
    const manifests = all.flatMap((place) => [...place.manifests.values()])
    const needed = new Set(manifests.flatMap(({ digest, blobs: own }) => [digest, ...own]))
    for (const blob of needed) if (!blobs.has(blob)) throw new Error(`${blob} of a manifest is gone`)
    const about = new Set(manifests.flatMap(({ subject }) => subject ?? []))
    const isHeld = (place: Place, since: number | undefined) =>
      since !== undefined && (isBusy(place) || since >= now - DAY)
    for (const [blob, changedAt] of blobs) {
      if (needed.has(blob) || about.has(blob) || changedAt >= now - DAY) continue
      if (all.some((place) => isHeld(place, place.layers.get(blob)))) continue
      throw new Error(`${blob} is unused and was kept`)
    }
  }
  /** By itself, or because a justified one needs it or is its subject. */
  function isJustified(place: Place, digest: string, seen = new Set<string>()): boolean {
    if (seen.has(digest)) return false
    seen.add(digest)
    const own = place.manifests.get(digest)
    if (own === undefined) return false
    if (isRoot(place, own)) return true
    const parents = [...place.manifests.values()].filter(({ references }) => references.includes(digest))
    const subject = own.subject === undefined ? [] : [own.subject]
    return [...parents.map((parent) => parent.digest), ...subject].some((other) => isJustified(place, other, seen))
  }
  function isRoot(place: Place, { digest, pushedAt, pulledAt = 0 }: Manifest): boolean {
    const pins = place.pins.filter(({ until }) => until > now)
    if (place.running.has(digest) || place.revisions.has(digest)) return true
    if (pins.some((pin) => pin.digests.includes(digest))) return true
    const isTagged = (other: string) => [...place.tags.values()].includes(other)
    const idle = now - Math.max(pushedAt, pulledAt)
    if (!isTagged(digest)) return idle < 7 * DAY
    if (idle < Math.max(30, ...pins.map(({ keepForDays = 0 }) => keepForDays)) * DAY) return true
    const newer = [...place.manifests.values()].filter(
      (other) =>
        isTagged(other.digest) && (other.pushedAt > pushedAt || (other.pushedAt === pushedAt && other.digest > digest)),
    )
    return newer.length < Math.max(10, ...pins.map(({ keepLast = 0 }) => keepLast))
  }
  return {
    counts,
    step(): void {
      const draw = random.next()
      if (draw < 0.35) begin()
      else if (draw < 0.6) finish()
      else if (draw < 0.78) change(any())
      else if (draw < 0.94) pass()
      else run()
    },
    run,
    /** Every push in progress completes. */
    finishUploads(): void {
      while (uploads.length > 0) finish()
    },
  }
}
