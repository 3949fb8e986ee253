import type { Context } from '../../src/api/http/context.ts'
import { createRecords } from '../../src/api/records/kubeRecords.ts'
import { withReservedQuota } from '../../src/api/resources/quota.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'

export const B = '11111111-1111-4111-8111-111111111111'
export const GROUP = 'shop'
export const HOME = groupNamespace(B, GROUP)
export const caller = {
  principalId: '22222222-2222-4222-8222-222222222222',
  principalType: 'User',
  expiresAt: 0,
} as const

/** Several facades on one API server, each with its own caches. */
export class Facades {
  readonly server = new FakeKubeClient()
  readonly #caches: CacheSet[] = []
  now = Date.UTC(2026, 0, 1)

  constructor(quota: object, at: 'group' | 'boundary') {
    const put = (kind: AnyKind, name: string, spec: object, namespace?: string) =>
      this.server.seed(kind.resource, {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
        spec: kind.spec.parse(spec) as object,
      } as KubeObject)
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) put(ComputePlan, name, spec)
    put(Boundary, B, { displayName: 'Acme', ...(at === 'boundary' ? { quota } : {}) })
    put(ResourceGroup, GROUP, at === 'group' ? { quota } : {}, boundaryNamespace(B))
  }

  /** @param sees whether it watches the writes of others after its start */
  async facade(sees = true): Promise<Facade> {
    const caches = new CacheSet({ client: this.server })
    for (const kind of KINDS) caches.add(kind.resource)
    caches.start()
    await caches.whenAllSynced()
    if (!sees) await caches.stopAll()
    this.#caches.push(caches)
    const telling = new Proxy(this.server, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (!['create', 'mergePatch', 'get'].includes(String(property))) return value
        return async (...args: unknown[]) => {
          await new Promise((resolve) => setImmediate(resolve))
          const answer = await (value as (...given: unknown[]) => Promise<KubeObject>).apply(target, args)
          if (property !== 'get') caches.observer().written(args[0] as never, answer)
          return answer
        }
      },
    })
    const records = createRecords({ client: telling, caches })
    const clock = { now: () => this.now }
    return new Facade({ services: { records, clock }, caller } as unknown as Context)
  }

  async count(kind: AnyKind): Promise<number> {
    return (await this.server.list(kind.resource, { namespace: HOME })).items.length
  }

  async stop(): Promise<void> {
    for (const caches of this.#caches) await caches.stopAll()
  }
}

export class Facade {
  readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  /** @returns the status of the answer */
  async create(kind: AnyKind, name: string, spec: object, fail?: () => void): Promise<number> {
    const location = { boundaryId: B, resourceGroup: GROUP, name }
    try {
      await withReservedQuota(kind, location, this.context, async (reserve) => {
        await reserve(kind.spec.parse(spec) as object)
        fail?.()
        return this.context.services.records.create(kind, { namespace: HOME, name, spec, caller })
      })
      return 201
    } catch (error) {
      return (error as { status?: number }).status ?? 500
    }
  }
}
