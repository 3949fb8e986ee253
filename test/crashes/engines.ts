import { createMemoryAuditLog } from '../../src/adapters/audit/memory.ts'
import { FakeBackupTargets } from '../../src/adapters/backuptarget/fake.ts'
import { fakeBlobs } from '../../src/adapters/blobs/fake.ts'
import { FakeClusterInspector } from '../../src/adapters/clusterinspector/fake.ts'
import { FakeGitFiles } from '../../src/adapters/gitfiles/fake.ts'
import { FakeObjectStore } from '../../src/adapters/objectstorage/fake.ts'
import { FakePlatformKeys } from '../../src/adapters/platformkeys/fake.ts'
import { FakePodLogs } from '../../src/adapters/podlogs/fake.ts'
import { FakeQdrant } from '../../src/adapters/qdrant/fake.ts'
import { FakeImageRegistry } from '../../src/adapters/registry/fake.ts'
import { FakeReleaseFeed } from '../../src/adapters/releases/fake.ts'
import { FakeCircuit, FakeSources } from '../../src/adapters/sources/fake.ts'
import { silentEngine } from '../../src/adapters/sql/fake.ts'
import {
  type Login,
  type LoginNames,
  type Preparation,
  type SqlEngine,
  SqlFault,
  type SqlTarget,
} from '../../src/adapters/sql/port.ts'
import type { RegistryAuditEntry } from '../../src/contracts/registry/audit.ts'
import { sqlHost } from '../../src/contracts/sql.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { VectorCluster } from '../../src/crds/vector.ts'

export type RunningPod = {
  name: string
  namespace: string
  /** Kind and name of the resource that it runs for. */
  kind: string
  owner: string
  /** The Service that leads to it. */
  service: string
  /** The uid of the claim that it writes to. */
  volume: string
  /** Its environment variables at startup, in order. */
  accepted: readonly string[]
}

/** Everything outside the API server that outlives a process of the operator. */
export class Engines {
  readonly vector = new FakeQdrant()
  readonly sql = new FakeSqlServers()
  readonly store = new FakeObjectStore()
  readonly platformKeys = new FakePlatformKeys('first')
  readonly sources = new FakeSources()
  readonly circuit = new FakeCircuit()
  /** TXT records by name. */
  readonly domains = new Map<string, string[]>()
  readonly podLogs = new FakePodLogs()
  readonly blobs = fakeBlobs()
  readonly registry = new FakeImageRegistry()
  readonly audit = createMemoryAuditLog<RegistryAuditEntry>()
  readonly releases = new FakeReleaseFeed()
  readonly gitFiles = new FakeGitFiles()
  readonly backupTargets = new FakeBackupTargets()
  readonly clusterLook = new FakeClusterInspector()
  /** Containers of jobs that were started, by the name of their pod. */
  readonly startedJobs: string[] = []
  readonly #volumes = new Map<string, string>()

  run(pods: readonly RunningPod[]): void {
    const vectors = pods.filter(({ kind }) => kind === VectorCluster.kind)
    for (const pod of vectors) this.#runPeer(pod)
    for (const [name, peer] of this.vector.peers) peer.reachable = vectors.some((pod) => pod.name === name)
    this.sql.host(pods.filter(({ kind }) => kind === SqlInstance.kind))
  }

  /** A peer joins once for each volume: one that was removed from the cluster does not rejoin by a restart. */
  #runPeer({ name, service, volume, accepted }: RunningPod): void {
    const before = this.vector.peers.get(name)
    if (before !== undefined && this.#volumes.get(name) === volume) before.accepted = accepted
    else this.vector.join(name, service, accepted)
    this.#volumes.set(name, volume)
  }
}

type Server = { administrator: string; databases: Set<string>; logins: Map<string, string>; edition: string | null }

/** SQL engines in memory. The administrator's password is the one of the engine's first start on its volume. */
export class FakeSqlServers implements SqlEngine {
  /** By the volume. */
  readonly #servers = new Map<string, Server>()
  /** Names of the logins of the editor, by the host of a PostgreSQL whose owner let them in. */
  readonly #admitted = new Map<string, readonly string[]>()
  /** The volume that answers at a host. */
  #hosts = new Map<string, string>()

  host(pods: readonly RunningPod[]): void {
    this.#hosts = new Map(pods.map(({ namespace, owner, volume }) => [sqlHost(namespace, owner), volume]))
    for (const { volume, accepted } of pods) {
      const server = this.#servers.get(volume)
      const administrator = accepted.at(-1) ?? ''
      // For SQL Server, the product key precedes the password; its first word is the edition.
      const edition = accepted.length > 1 ? (accepted[0]?.split('-')[0] ?? null) : null
      if (server !== undefined) server.edition = edition
      else this.#servers.set(volume, { administrator, databases: new Set(), logins: new Map(), edition })
    }
  }

  /** Whether the login works, as an application would try it. */
  accepts(host: string, { user, password }: Login): boolean {
    return this.#servers.get(this.#hosts.get(host) ?? '')?.logins.get(user) === password
  }

  edition(host: string): string | null | undefined {
    return this.#servers.get(this.#hosts.get(host) ?? '')?.edition
  }

  databases(host: string): string[] {
    return [...(this.#servers.get(this.#hosts.get(host) ?? '')?.databases ?? [])].sort()
  }

  async describe(target: SqlTarget) {
    return { version: '11.4', edition: this.#enter(target).edition }
  }

  async prepare(target: SqlTarget, { database, logins }: Preparation): Promise<void> {
    const server = this.#enter(target)
    server.databases.add(database)
    for (const { user, password } of Object.values(logins)) server.logins.set(user, password)
  }

  async admit({ host }: SqlTarget, { reader, writer }: LoginNames): Promise<void> {
    this.#admitted.set(host, [reader, writer])
  }

  /** The logins of the editor. */
  admitted(host: string): readonly string[] {
    return this.#admitted.get(host) ?? []
  }

  readonly catalogue = silentEngine.catalogue
  readonly run = silentEngine.run
  readonly rows = silentEngine.rows
  readonly change = silentEngine.change
  async close(): Promise<void> {}

  #enter(target: SqlTarget): Server {
    const server = this.#servers.get(this.#hosts.get(target.host) ?? '')
    if (server === undefined) throw new SqlFault('Unreachable', 'No engine runs there.')
    if (server.administrator !== target.password) throw new SqlFault('Unauthorized', 'The password is another.')
    return server
  }
}
