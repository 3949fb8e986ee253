import type { Controller, Workspace } from '../../src/controllers/engine/controller.ts'
import { resourceOf } from '../../src/controllers/engine/workspace.ts'
import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../src/core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { persistentVolumeClaim, pod } from '../../src/kube/builtin.ts'
import { sampleSpec } from '../make/samples.ts'
import { BOUNDARY_ID, ControllerBench } from './controllers.ts'

/** Kinds of which there is one. */
const SINGLE: ReadonlySet<string> = new Set(['Boundary', 'ResourceGroup'])

const IDS = '00000000-0000-4000-8000-'
const idOf = (index: number) => `${IDS}${String(index).padStart(12, '0')}`

/**
 * One controller in a group with many objects of each kind that it observes, counting the objects that it looks at
 * in lists.
 */
export class CountedReads {
  readonly bench: ControllerBench
  readonly #controller: Controller
  readonly #siblings: number
  /** Number of objects in lists, by resource. */
  #listed = new Map<string, number>()

  constructor(controller: Controller, siblings: number) {
    this.#controller = controller
    this.#siblings = siblings
    this.bench = new ControllerBench([controller])
    this.#count(this.bench.environment.records)
    this.bench.seedGroup('shop')
  }

  async start(): Promise<void> {
    const { kind, observes, reads } = this.#controller
    const kinds = kindsOf([kind.resource, ...observes, ...reads])
    for (let index = 0; index < this.#siblings; index += 1) {
      for (const each of kinds) this.#seed(each, index)
      for (const resource of [pod, persistentVolumeClaim]) this.#seedChild(resource, index)
    }
    await this.bench.start()
  }

  /** Returns the objects in lists by resource while an object of the kind is created, changed and deleted. */
  async listedForChangesOf(kind: AnyKind): Promise<ReadonlyMap<string, number>> {
    this.#listed = new Map()
    const object = this.#seed(kind, this.#siblings + 1)
    await this.bench.rest()
    this.bench.client.edit(kind.resource, object.metadata as never, (one) => {
      one.metadata.generation = 2
      one.metadata.labels = { ...one.metadata.labels, changed: 'yes' }
    })
    await this.bench.rest()
    this.bench.client.edit(kind.resource, object.metadata as never, (one) => {
      delete one.metadata.finalizers
    })
    await this.bench.client.remove(kind.resource, object.metadata as never)
    await this.bench.rest()
    return this.#listed
  }

  /** Our kinds that wake the controller. */
  observedKinds(): AnyKind[] {
    const { kind, observes } = this.#controller
    return kindsOf([kind.resource, ...observes])
  }

  #count(records: Workspace): void {
    const { cache } = records
    Object.assign(records, {
      cache: (one: Resource | AnyKind) => {
        const view = cache.call(records, one as Resource)
        return new Proxy(view, {
          get: (target, property) => {
            const value: unknown = Reflect.get(target, property, target)
            if (typeof value !== 'function') return value
            if (property !== 'list') return value.bind(target)
            return (...given: unknown[]) => {
              const found = value.apply(target, given) as readonly KubeObject[]
              const { plural } = resourceOf(one as Resource)
              this.#listed.set(plural, (this.#listed.get(plural) ?? 0) + found.length)
              return found
            }
          },
        })
      },
    })
  }

  #seed(kind: AnyKind, index: number): KubeObject {
    const spec = {
      ...kind.spec.parse(sampleSpec(kind, { boundaryId: BOUNDARY_ID, ownerId: idOf(0), memberId: idOf(index) })),
    }
    const name = kind.name === 'resource' ? `one-${index}` : idOf(index)
    const namespace = spaceOf(kind)
    return this.bench.seed(kind, name, spec, namespace === undefined ? {} : { namespace })
  }

  #seedChild(resource: Resource, index: number): void {
    const { kind } = this.#controller
    this.bench.client.seed(resource, {
      apiVersion: 'v1',
      kind: resource.kind,
      metadata: {
        name: `${kind.shortNames[0]}-one-${index}-0`,
        namespace: groupNamespace(BOUNDARY_ID, 'shop'),
        labels: { [OWNER_KIND_LABEL]: kind.kind, [OWNER_NAME_LABEL]: `one-${index}` },
      },
    } as KubeObject)
  }
}

function kindsOf(observed: readonly (Resource | { resource: Resource })[]): AnyKind[] {
  const plurals = new Set(observed.map((each) => resourceOf(each).plural))
  return KINDS.filter(({ plural, kind }) => plurals.has(plural) && !SINGLE.has(kind))
}

function spaceOf({ placement }: AnyKind): string | undefined {
  if (placement === 'cluster') return undefined
  if (placement === 'group') return groupNamespace(BOUNDARY_ID, 'shop')
  return placement === 'platform' ? SYSTEM_NAMESPACE : boundaryNamespace(BOUNDARY_ID)
}
