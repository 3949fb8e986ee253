import type { Controller } from '../../src/controllers/engine/controller.ts'
import { differences } from '../make/snapshot.ts'
import type { Death, Write } from './life.ts'
import { seedGroup } from './seeds.ts'
import { stateOf } from './state.ts'
import { type Passes, restlessAfterChanges, withPasses } from './wakes.ts'
import { World } from './world.ts'

export type Step = {
  /** A sentence about the user's action. */
  user: string
  act: (world: World) => Promise<unknown> | unknown
  /** The condition that the user waits for before the next step; absent if that follows at once. */
  until?: (world: World) => Promise<boolean> | boolean
}

/** Consecutive actions of a user, and the facts that must hold at the end however often the operator died. */
export type Flow = {
  /** A sentence: what happens. */
  title: string
  /** Names of the controllers that run. */
  controllers: readonly string[]
  /** Controllers that replace those of the same name, for kinds that no area has yet. */
  instead?: readonly Controller[]
  /** Whether boundary and group exist at the start; true by default. */
  hasGroup?: boolean
  /** Whether nothing exists at the start and the operator installs the initial objects; false by default. */
  isFirstStart?: boolean
  /** Done before, without crashes. */
  given?: readonly Step[]
  steps: readonly Step[]
  /** Facts that stored objects do not show: whether keys work, what engines contain. */
  facts: (world: World) => Promise<object> | object
}

export type Run = {
  end: Record<string, unknown>
  writes: readonly Write[]
  hasDied: boolean
  /** What changes without effect lead to; only of an undisturbed run. */
  restless: readonly string[]
}

/** Milliseconds after which everything that was postponed has happened. */
const AFTERMATH = 600_000

/** Runs a flow in a new world. */
export async function play(flow: Flow, death?: Death): Promise<Run> {
  const { hasGroup = true, isFirstStart = false, given = [] } = flow
  const passes: Passes = []
  const world = new World((all) => chosen(flow, all).map((one) => withPasses(one, passes)), isFirstStart)
  if (hasGroup) seedGroup(world.server)
  try {
    if (given.length > 0) await world.lead()
    for (const step of given) await take(step, world)
    const life = await world.lead(death)
    for (const step of flow.steps) await take(step, world)
    await world.pass(AFTERMATH)
    const settled = world.writes
    await world.pass(AFTERMATH)
    const end = { ...stateOf(world), facts: await flow.facts(world), writesAtRest: world.writes - settled }
    const writes = [...life.writes]
    const restless = death === undefined ? await restlessAfterChanges(world, passes) : []
    return { end, writes, hasDied: life.isOver, restless }
  } finally {
    await world.stop()
  }
}

function chosen({ controllers, instead = [] }: Flow, all: readonly Controller[]): Controller[] {
  const wanted = all.filter(({ name }) => controllers.includes(name))
  const missing = controllers.filter((name) => !all.some((one) => one.name === name))
  if (missing.length > 0) throw new Error(`There are no such controllers: ${missing.join(', ')}.`)
  return wanted.map((controller) => instead.find(({ name }) => name === controller.name) ?? controller)
}

async function take({ user, act, until }: Step, world: World): Promise<void> {
  world.touch()
  await act(world)
  if (until !== undefined) await world.until(`the end of "${user}"`, () => until(world))
}

/** How a run with a crash ended differently from the undisturbed one; empty if it did not. */
export async function disturbed(flow: Flow, death: Death, peace: Run): Promise<{ hasDied: boolean; found: string[] }> {
  try {
    const { end, hasDied } = await play(flow, death)
    return { hasDied, found: differences(peace.end, end) }
  } catch (error) {
    return { hasDied: true, found: [error instanceof Error ? error.message : String(error)] }
  }
}
