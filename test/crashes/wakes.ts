import type { Controller } from '../../src/controllers/engine/controller.ts'
import { type KubeObject, objectKey } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import type { World } from './world.ts'

const MEASURED_MS = 7_200_000

/** `<controller> <key>` of each pass. */
export type Passes = string[]

export function withPasses(controller: Controller, passes: Passes): Controller {
  const reconcile: Controller['reconcile'] = (pass) => {
    passes.push(`${controller.name} ${pass.key}`)
    return controller.reconcile(pass)
  }
  return { ...controller, reconcile }
}

type Conditions = { conditions?: { message: string }[] }

/** Changes that leave nothing to do but, at most, to write the status again. */
const CHANGES = [
  {
    what: 'another annotation',
    change: ({ metadata }: KubeObject) => {
      metadata.annotations = { ...metadata.annotations, 'example.com/note': 'looked at' }
    },
    passes: 1,
    writes: 0,
  },
  {
    what: 'another message in its status',
    change: (object: KubeObject) => {
      const [condition] = (object.status as Conditions | undefined)?.conditions ?? []
      if (condition !== undefined) condition.message = 'somebody else wrote this'
    },
    // The write of the status is a change as well.
    passes: 2,
    writes: 1,
  },
] as const

/**
 * Changes each object of ours at rest, without effect, and returns what was done too often: a controller that wakes
 * itself, or two that wake each other, never come to rest.
 */
export async function restlessAfterChanges(world: World, passes: Passes): Promise<string[]> {
  // What is measured from time to time has been measured since the last change.
  await world.pass(MEASURED_MS)
  const found: string[] = []
  const objects = KINDS.flatMap((kind) =>
    [...world.server.stored(kind.resource)].map(({ metadata }) => ({ kind, metadata })),
  )
  for (const { kind, metadata } of objects)
    for (const { what, change, ...allowed } of CHANGES) {
      passes.length = 0
      world.server.edit(kind.resource, metadata, change)
      const changed = Number(world.server.version)
      await world.rest()
      const writes = Number(world.server.version) - changed
      const after = `after ${what} of ${kind.kind} ${objectKey(metadata.namespace, metadata.name)}`
      if (writes > allowed.writes) found.push(`${writes} writes ${after}`)
      for (const [pass, count] of Map.groupBy(passes, (one) => one))
        if (count.length > allowed.passes) found.push(`${count.length} passes of ${pass} ${after}`)
    }
  return found
}
