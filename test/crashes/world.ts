import { installDefaults } from '../../src/controllers/defaults.ts'
import type { Controller } from '../../src/controllers/engine/controller.ts'
import { type ControllerPorts, controllers } from '../../src/controllers/index.ts'
import { silentLog } from '../../src/core/log.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { ManualClock, settle } from '../make/clock.ts'
import { isReady } from '../worlds/fleet.ts'
import { PlayedApiServer } from './apiServer.ts'
import { Engines } from './engines.ts'
import { PlayedKubernetes, type WorkloadPlay } from './kubernetes.ts'
import { type Death, Life, mortal } from './life.ts'
import { API_WRITES, OperatorProcess } from './operator.ts'
import { portsOf } from './ports.ts'
import { derivedNames, HOME, seedDefaults, seedPlatform } from './seeds.ts'

/** A platform in memory in which the operator may die at any moment and start again. */
export class World {
  readonly clock = new ManualClock(Date.UTC(2026, 0, 1))
  readonly server = new PlayedApiServer(() => this.clock.now())
  /** Another cluster, with an agent. */
  readonly far = new PlayedApiServer(() => this.clock.now())
  readonly engines = new Engines()
  readonly farEngines = new Engines()
  readonly kubernetes: PlayedKubernetes
  readonly #farKubernetes: PlayedKubernetes
  /** Replacements for values that differ from run to run. */
  readonly names = this.server.identities
  readonly #isFirstStart: boolean
  readonly #choose: (ports: ControllerPorts) => readonly Controller[]
  #operator: OperatorProcess | undefined
  #ids = 0
  #moment = 0

  /**
   * @param choose the controllers that run
   * @param isFirstStart whether the operator finds nothing, and installs what a platform begins with
   * @param workloads what plays StatefulSets; by default one that does everything at once
   */
  constructor(
    choose: (all: readonly Controller[]) => readonly Controller[],
    isFirstStart = false,
    workloads?: (server: PlayedApiServer) => WorkloadPlay,
  ) {
    this.kubernetes = new PlayedKubernetes(this.server, this.engines, workloads?.(this.server))
    this.#farKubernetes = new PlayedKubernetes(this.far, this.farEngines)
    this.#isFirstStart = isFirstStart
    this.#choose = (ports) => choose(controllers(ports))
    for (const played of [this.kubernetes, this.#farKubernetes]) played.onChange = () => this.touch()
    this.server.onIncarnation = (object, incarnation) => {
      for (const [text, what] of derivedNames(object, incarnation)) this.names.set(text, what)
    }
    seedPlatform(this.server)
    if (!isFirstStart) seedDefaults(this.server)
  }

  /** A new process leads and dies as requested; the next one does not. */
  async lead(death?: Death): Promise<Life> {
    await this.#operator?.stop()
    const life = new Life(death, () => this.#moment)
    if (this.#isFirstStart && !(await this.#install(life))) {
      await this.lead()
      return life
    }
    this.#operator = new OperatorProcess({
      server: this.server,
      far: this.far,
      clock: this.clock,
      life,
      newId: () =>
        `${(++this.#ids)
          .toString(16)
          .padStart(12, '0')
          .replace(/^(.{8})/, '$1-')}-4000-8000-000000000000`,
      controllers: this.#choose(portsOf(this.engines, life, this.farEngines)),
    })
    await this.#operator.start()
    return life
  }

  /** False if the process died during it. */
  async #install(life: Life): Promise<boolean> {
    const client = mortal(this.server as KubeClient, API_WRITES, 'defaults', life)
    const isDone = installDefaults(client, { domain: 'cloud.example.org', region: '' }, silentLog).then(() => true)
    return Promise.race([isDone, life.died.then(() => false)])
  }

  /** The number of writes of the current process. */
  get writes(): number {
    return this.#operator?.life.writes.length ?? 0
  }

  async stop(): Promise<void> {
    await this.#operator?.stop()
  }

  /** Until neither the operator nor the cluster has anything to do now. Timers do not fire. */
  async rest(): Promise<void> {
    for (let round = 0; round < 60; round += 1) {
      await this.#operatorRests()
      const before = `${this.server.version} ${this.far.version}`
      await this.kubernetes.play()
      await this.#farKubernetes.play()
      await this.#operatorRests()
      if (`${this.server.version} ${this.far.version}` === before) return
    }
    throw new Error('The operator and the cluster do not settle.')
  }

  /** One turn of the operator and of the cluster, even if nothing is left to do. */
  async round(): Promise<void> {
    await this.#operatorRests()
    await this.kubernetes.play()
    await this.#farKubernetes.play()
    await this.#operatorRests()
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

  /** A change that the operator did not make. */
  touch(): void {
    this.#moment += 1
  }

  /** Time passes; of long periods only the last minute is simulated step by step. */
  async pass(milliseconds: number): Promise<void> {
    this.touch()
    this.clock.freeze(Math.max(0, milliseconds - 60_000))
    await this.clock.advance(Math.min(milliseconds, 60_000))
    await this.rest()
  }

  /** Settles, and lets time pass, until the condition holds. */
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
    const object = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { name, namespace: space, labels },
      data: Object.fromEntries(encoded),
    } as KubeObject
    if ((await this.find(secret, name, space)) === undefined) await this.server.create(secret, object)
    else await this.server.mergePatch(secret, { namespace: space, name }, { data: object.data })
  }

  /** The entries of a Secret. */
  async secret(name: string, space: string = HOME): Promise<SecretObject['data']> {
    return (await this.find<SecretObject>(secret, name, space))?.data
  }
}
