import { readFileSync } from 'node:fs'
import { loadAll } from 'js-yaml'
import { installDefaults } from '../../src/controllers/defaults.ts'
import type { Controller } from '../../src/controllers/engine/controller.ts'
import { type ControllerPorts, controllers } from '../../src/controllers/index.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { boundaryNamespaceObject, groupNamespaceObject } from '../../src/core/namespaces.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { storeUserName } from '../../src/core/objectstorage.ts'
import { relationalNames, serverName } from '../../src/core/relational.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { ObjectAccessKey } from '../../src/crds/objectstorage.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { initialOwnerAssignment } from '../../src/desired/boundaries.ts'
import { principalOf } from '../../src/desired/managedidentities.ts'
import { customResourceDefinition, namespace, secret, storageClass } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { ManualClock, settle } from '../make/clock.ts'
import { isReady } from '../make/fleet.ts'
import { TARGET } from '../make/relational.ts'
import { PlayedApiServer } from './apiServer.ts'
import { Engines } from './engines.ts'
import { PlayedKubernetes } from './kubernetes.ts'
import { type Death, Life, mortal } from './life.ts'
import { API_WRITES, OperatorProcess } from './operator.ts'

export const BOUNDARY_ID = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
export const GROUP = 'shop'
export const HOME = groupNamespace(BOUNDARY_ID, GROUP)
export const OUTER = boundaryNamespace(BOUNDARY_ID)

const DEFINITIONS = loadAll(
  readFileSync(new URL('../../deploy/played/cloudnative-pg.yaml', import.meta.url), 'utf8'),
) as KubeObject[]

/** A platform in memory in which the operator may die at any moment and begins anew. */
export class World {
  readonly clock = new ManualClock(Date.UTC(2026, 0, 1))
  readonly server = new PlayedApiServer(() => this.clock.now())
  readonly engines = new Engines()
  readonly kubernetes = new PlayedKubernetes(this.server, this.engines)
  /** Text that stands for something that differs from run to run, by that text. */
  readonly names = this.server.identities
  readonly #isFirstStart: boolean
  readonly #choose: (ports: ControllerPorts) => readonly Controller[]
  #operator: OperatorProcess | undefined
  #ids = 0
  #moment = 0

  /**
   * @param choose the controllers that run
   * @param isFirstStart whether the operator finds nothing, and installs what a platform begins with
   */
  constructor(choose: (all: readonly Controller[]) => readonly Controller[], isFirstStart = false) {
    this.#isFirstStart = isFirstStart
    this.#choose = (ports) => choose(controllers(ports))
    this.kubernetes.onChange = () => this.touch()
    this.server.onIncarnation = (object, incarnation) => this.#nameDerived(object, incarnation)
    this.#seedPlatform()
    if (!isFirstStart) this.#seedDefaults()
  }

  /** A new process leads. It dies as told, and then another leads that does not. */
  async lead(death?: Death): Promise<Life> {
    await this.#operator?.stop()
    const life = new Life(death, () => this.#moment)
    if (this.#isFirstStart && !(await this.#install(life))) {
      await this.lead()
      return life
    }
    this.#operator = new OperatorProcess({
      server: this.server,
      clock: this.clock,
      life,
      newId: () =>
        `${(++this.#ids)
          .toString(16)
          .padStart(12, '0')
          .replace(/^(.{8})/, '$1-')}-4000-8000-000000000000`,
      controllers: this.#choose(this.#portsFor(life)),
    })
    await this.#operator.start()
    return life
  }

  /** False where the process died over it. */
  async #install(life: Life): Promise<boolean> {
    const client = mortal(this.server as KubeClient, API_WRITES, 'defaults', life)
    const isDone = installDefaults(client, { domain: 'cloud.example.org', region: '' }, silentLog).then(() => true)
    return Promise.race([isDone, life.died.then(() => false)])
  }

  async stop(): Promise<void> {
    await this.#operator?.stop()
  }

  /** Until nobody has anything to do now: neither the operator nor the cluster. Timers stay where they are. */
  async rest(): Promise<void> {
    for (let round = 0; round < 60; round += 1) {
      await this.#operatorRests()
      const before = this.server.version
      await this.kubernetes.play()
      await this.#operatorRests()
      if (this.server.version === before) return
    }
    throw new Error('The operator and the cluster never come to rest.')
  }

  async #operatorRests(): Promise<void> {
    for (let quiet = 0, calls = -1; quiet < 2; ) {
      if (this.#operator?.life.isOver === true) await this.lead()
      await settle()
      await this.#operator?.whenIdle()
      quiet = this.server.calls.length === calls ? quiet + 1 : 0
      calls = this.server.calls.length
    }
  }

  /** Something happens that the operator did not do. */
  touch(): void {
    this.#moment += 1
  }

  /** Time passes; of long times only the last minute is played moment by moment. */
  async pass(milliseconds: number): Promise<void> {
    this.touch()
    this.clock.freeze(Math.max(0, milliseconds - 60_000))
    await this.clock.advance(Math.min(milliseconds, 60_000))
    await this.rest()
  }

  /** Rests, and lets time pass, until it is so. */
  async until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
    for (const wait of [0, 1_000, 1_000, 5_000, 5_000, 10_000, 10_000, 30_000, 30_000, 60_000, 60_000, 300_000]) {
      if (wait === 0) await this.rest()
      else await this.pass(wait)
      if (await isSo()) return
    }
    throw new Error(`It never comes to this: ${what}.`)
  }

  async find<T extends KubeObject = KubeObject>(resource: Resource, name: string, space: string | undefined = HOME) {
    return this.server.peek<T>(resource, resource.namespaced ? { namespace: space, name } : { name })
  }

  async isReady(kind: AnyKind, name: string, space: string = HOME): Promise<boolean> {
    const found = await this.find(kind.resource, name, space)
    return found !== undefined && isReady(found)
  }

  async isGone(kind: AnyKind, name: string, space: string = HOME): Promise<boolean> {
    return (await this.find(kind.resource, name, space)) === undefined
  }

  /** As a user does with kubectl. */
  async make(kind: AnyKind, name: string, spec: object, space: string = HOME, metadata: object = {}): Promise<void> {
    await this.server.create(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, ...(kind.resource.namespaced ? { namespace: space } : {}), ...metadata },
      spec: kind.spec.parse(spec) as object,
    })
  }

  async change(kind: AnyKind, name: string, spec: object, space: string = HOME): Promise<void> {
    await this.server.mergePatch(kind.resource, kind.resource.namespaced ? { namespace: space, name } : { name }, {
      spec,
    })
  }

  async remove(kind: { resource: Resource }, name: string, space: string = HOME): Promise<void> {
    await this.server.remove(kind.resource, kind.resource.namespaced ? { namespace: space, name } : { name })
  }

  async makeSecret(name: string, data: Record<string, string>, space: string = HOME, labels = {}): Promise<void> {
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
    await this.server.create(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name, namespace: space, labels },
      data: Object.fromEntries(encoded),
    } as KubeObject)
  }

  /** The texts of a Secret. */
  async secret(name: string, space: string = HOME): Promise<Record<string, string> | undefined> {
    return (await this.find<KubeObject & { data?: Record<string, string> }>(secret, name, space))?.data
  }

  /** A boundary with a group as their controllers leave them, for flows that are not about these. */
  seedGroup(): void {
    const boundary = this.#seed(Boundary, BOUNDARY_ID, { displayName: 'Shop' })
    this.server.seed(namespace, boundaryNamespaceObject(boundary))
    const group = this.#seed(ResourceGroup, GROUP, {}, OUTER)
    const incarnation = group.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    this.server.seed(namespace, groupNamespaceObject(BOUNDARY_ID, GROUP, incarnation))
  }

  #seedPlatform(): void {
    for (const name of [SYSTEM_NAMESPACE, 'kube-system'])
      this.server.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid-of-${name}` } })
    const standard = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'standard' } }
    this.server.seed(storageClass, { ...standard, allowVolumeExpansion: true })
    const established = { conditions: [{ type: 'Established', status: 'True' }] }
    for (const definition of DEFINITIONS)
      this.server.seed(customResourceDefinition, { ...definition, status: established })
    this.server.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'freehold-backup-target', namespace: SYSTEM_NAMESPACE },
      data: { 'access-key-id': 'aWQ=', 'secret-access-key': 'a2V5' },
    })
  }

  #seedDefaults(): void {
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) this.#seed(ComputePlan, name, spec)
    const here = { displayName: 'here', region: '', domain: 'cloud.example.org', isPlatform: true }
    this.#seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
  }

  #seed(kind: AnyKind, name: string, spec: object, space?: string): KubeObject {
    const annotations = { [INCARNATION_ANNOTATION]: `life-of-${name}` }
    const metadata = { name, annotations, ...(space === undefined ? {} : { namespace: space }) }
    const whole = kind.spec.parse(spec) as object
    return this.server.seed(kind.resource, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec: whole })
  }

  #nameDerived(object: KubeObject, incarnation: string): void {
    const name = (text: string, what: string) => this.names.set(text, `${what} of ${object.metadata.name}`)
    if (object.kind === Boundary.kind) {
      const assignment = initialOwnerAssignment(object as unknown as Boundary, incarnation)
      if (assignment !== undefined) name(assignment.metadata.name, 'first assignment')
    }
    if (object.kind === ObjectAccessKey.kind) name(storeUserName(incarnation), 'store user')
    if (object.kind === ManagedIdentity.kind)
      name(principalOf(object as unknown as ManagedIdentity, incarnation), 'principal')
    if (object.kind === RelationalCluster.kind)
      name(serverName(relationalNames(object.metadata.name).cluster, incarnation), 'archive')
  }

  #portsFor(life: Life): ControllerPorts {
    const { vector, sql, store, platformKeys, domains } = this.engines
    const servers = mortal(sql, { prepare: ({ host }) => host }, 'sqlinstance', life)
    return {
      vectorEngine: mortal(
        vector,
        {
          moveShard: (_peer, collection, { shard }) => `${collection}/${shard}`,
          dropReplica: (_peer, collection, { shard }) => `${collection}/${shard}`,
          removePeer: (_peer, id) => String(id),
        },
        'vectorcluster',
        life,
      ),
      sqlEngines: { MsSql: servers, MariaDb: servers },
      allowOwnImages: false,
      backupTarget: TARGET,
      objectStorage: {
        store: mortal(
          store,
          {
            ensureBucket: ({ name }) => name,
            removeBucket: (name) => name,
            ensureKey: ({ user }) => user,
            removeKey: (user) => user,
          },
          'objectstore',
          life,
        ),
        usageInterval: 3_600_000,
      },
      projectRbac: true,
      vaultKeys: platformKeys,
      sso: {
        dns: { texts: async (name) => domains.get(name) ?? [] },
        outgoing: { document: async () => '' },
      },
    }
  }
}
