import type { AccessKeyPair, BucketSettings, StoreFeature, StoreGrant } from '../../contracts/objectstorage.ts'
import { DAY_MS } from '../../core/clock.ts'
import { DRIVERS } from './client.ts'
import {
  type AuditRecord,
  type ObjectStore,
  type Removal,
  type RemovalState,
  StoreError,
  type StoreErrorReason,
  type StoreInfo,
} from './port.ts'

type Bucket = { settings: BucketSettings; objects: Map<string, string>; lockedUntil: Map<string, number> }
type User = { pair: AccessKeyPair | undefined; isActive: boolean; grants: readonly StoreGrant[] }

const PERMISSIONS: Record<'read' | 'write', readonly StoreGrant['permission'][]> = {
  read: ['Read', 'ReadWrite', 'Admin'],
  write: ['Write', 'ReadWrite', 'Admin'],
}

/** A store in memory that passes the same contract tests, with a client that is subject to the grants. */
export class FakeObjectStore implements ObjectStore {
  readonly info: StoreInfo
  readonly buckets = new Map<string, Bucket>()
  readonly users = new Map<string, User>()
  /** The calls, in order. */
  readonly calls: string[] = []
  #made = 0
  #failure: StoreErrorReason | undefined
  /** Requests made with `attempt`. */
  readonly log: AuditRecord[] = []

  constructor(lacking: readonly StoreFeature[] = ['quota', 'lifecycle']) {
    const features = Object.fromEntries(
      Object.keys(DRIVERS.versitygw.features).map((name) => [name, !lacking.includes(name as StoreFeature)]),
    ) as StoreInfo['features']
    this.info = {
      driver: 'fake',
      version: '1',
      endpoint: 'http://store.test',
      publicEndpoint: undefined,
      regionName: 'us-east-1',
      forcePathStyle: true,
      features,
      limits: {},
      audits: true,
    }
  }

  /** Makes every further call fail for this reason; undefined ends that. */
  failWith(reason: StoreErrorReason | undefined): void {
    this.#failure = reason
  }

  #enter(call: string): void {
    this.calls.push(call)
    if (this.#failure !== undefined) throw new StoreError(this.#failure, `${call} failed as it was told to.`)
  }

  async ensureBucket(wanted: BucketSettings) {
    this.#enter(`ensureBucket ${wanted.name}`)
    const found = this.buckets.get(wanted.name)
    const wasOn = wanted.versioning === 'Off' && (found?.settings.versioning ?? 'Off') !== 'Off'
    const settings: BucketSettings = wasOn ? { ...wanted, versioning: 'Suspended' } : wanted
    if (found === undefined) this.buckets.set(settings.name, { settings, objects: new Map(), lockedUntil: new Map() })
    else if (found.settings.owner !== settings.owner)
      throw new StoreError('Taken', `Bucket "${settings.name}" is taken.`)
    else found.settings = settings
    return { versioning: settings.versioning }
  }

  async removeBucket(name: string, { empty, owner }: Removal): Promise<RemovalState> {
    this.#enter(`removeBucket ${name}`)
    const bucket = this.buckets.get(name)
    if (bucket === undefined || bucket.settings.owner !== owner) return 'Gone'
    if (bucket.objects.size > 0) {
      if (!empty) return 'NotEmpty'
      if (await this.holdsLocked(name)) return 'Locked'
    }
    this.buckets.delete(name)
    return 'Gone'
  }

  async isEmpty(name: string): Promise<boolean> {
    this.#enter(`isEmpty ${name}`)
    return (this.buckets.get(name)?.objects.size ?? 0) === 0
  }

  async holdsLocked(name: string): Promise<boolean> {
    return [...(this.buckets.get(name)?.lockedUntil.values() ?? [])].some((until) => until > Date.now())
  }

  async use(name: string) {
    this.#enter(`use ${name}`)
    const bucket = this.buckets.get(name)
    if (bucket === undefined) throw new StoreError('NotFound', `Bucket "${name}" could not be listed.`)
    const usedBytes = [...bucket.objects.values()].reduce((sum, body) => sum + body.length, 0)
    return { objectCount: bucket.objects.size, usedBytes }
  }

  async ensureKey(request: Parameters<ObjectStore['ensureKey']>[0]): Promise<AccessKeyPair> {
    this.#enter(`ensureKey ${request.user}`)
    const user = this.users.get(request.user) ?? { pair: undefined, isActive: true, grants: [] }
    this.users.set(request.user, user)
    if (user.pair === undefined || user.pair.accessKeyId !== request.known?.accessKeyId) {
      this.#made += 1
      user.pair = {
        accessKeyId: `AKIA${String(this.#made).padStart(16, '0')}`,
        secretAccessKey: `secret-${this.#made}-`.padEnd(40, 'x'),
      }
      await request.keep(user.pair)
    }
    user.isActive = request.isActive
    user.grants = request.grants
    return user.pair
  }

  async removeKey(user: string): Promise<void> {
    this.#enter(`removeKey ${user}`)
    this.users.delete(user)
  }

  async otherKeys(users: ReadonlySet<string>): Promise<string[]> {
    this.#enter('otherKeys')
    return [...this.users].flatMap(([name, { pair }]) => (pair === undefined || users.has(name) ? [] : [name]))
  }

  async lastUsed(): Promise<string | undefined> {
    return undefined
  }

  async audit(buckets: ReadonlySet<string>, limit: number): Promise<AuditRecord[]> {
    this.#enter('audit')
    return this.log
      .filter(({ bucket }) => buckets.has(bucket))
      .slice(-limit)
      .reverse()
  }

  async close(): Promise<void> {}

  /** Makes a request with this key pair, undefined for anonymous. Returns the HTTP status. */
  attempt(pair: AccessKeyPair | undefined, what: 'read' | 'write', bucket: string, named: string | Buffer): number {
    const key = named.toString()
    const status = this.#decide(pair, what, bucket, key)
    this.log.push({
      id: `${this.log.length}`,
      timestamp: new Date().toISOString(),
      operation: what === 'read' ? 'GetObject' : 'PutObject',
      bucket,
      key,
      statusCode: status,
      errorCode: status === 200 ? undefined : 'AccessDenied',
      accessKeyId: pair?.accessKeyId,
      user: undefined,
      remoteAddress: '127.0.0.1',
      bytes: 1,
      requestId: `${this.log.length}`,
    })
    return status
  }

  #decide(pair: AccessKeyPair | undefined, what: 'read' | 'write', bucket: string, key: string): number {
    const held = this.buckets.get(bucket)
    if (held === undefined) return 404
    const isPublic = what === 'read' && held.settings.publicRead
    const grants = pair === undefined ? [] : this.#grantsOf(pair)
    const isGranted = grants.some(
      (grant) =>
        grant.bucket === bucket && PERMISSIONS[what].includes(grant.permission) && key.startsWith(grant.prefix ?? ''),
    )
    if (!isGranted && !isPublic) return 403
    if (what === 'write') {
      held.objects.set(key, 'x')
      held.lockedUntil.set(key, Date.now() + (held.settings.lockDays ?? 0) * DAY_MS)
    } else if (!held.objects.has(key)) return 404
    return 200
  }

  #grantsOf(pair: AccessKeyPair): readonly StoreGrant[] {
    const user = [...this.users.values()].find((known) => known.pair?.accessKeyId === pair.accessKeyId)
    const isRight = user?.pair?.secretAccessKey === pair.secretAccessKey && user.isActive
    return isRight ? user.grants : []
  }
}
