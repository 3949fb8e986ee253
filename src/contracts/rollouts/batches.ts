import type { ComponentKind } from '../lifecycle.ts'
import { type BatchKind, batchTimeoutMinutes, type PlanBatch, type PlanItem } from './states.ts'

/** The fields of a component that determine its place among others. */
export type DependentComponent = {
  readonly name: string
  readonly dependsOn: readonly { readonly name: string; readonly constraint?: string | undefined }[]
}

const KIND_OF: Readonly<Record<ComponentKind, BatchKind>> = {
  ThirdPartyChart: 'ThirdPartyChart',
  CrdBundle: 'CrdBundle',
  PlatformStep: 'PlatformStep',
  LifecycleModule: 'LifecycleModule',
  Module: 'Components',
}
/** Rule 3 of interface section 4.21. */
const ORDER: readonly BatchKind[] = ['ThirdPartyChart', 'CrdBundle', 'PlatformStep', 'LifecycleModule', 'Components']

/**
 * Third-party charts come first, one at a time, then the CRD bundle, the platform step, the lifecycle module alone, and
 * the rest in the order of dependencies.
 */
export function batchesOf(items: readonly PlanItem[], components: readonly DependentComponent[]): PlanBatch[] {
  const groups = ORDER.flatMap((kind) => {
    const names = items.filter((item) => KIND_OF[item.kind] === kind).map(({ component }) => component)
    const levels = levelsOf(names, components)
    const apart = kind === 'ThirdPartyChart' ? levels.flat().map((name) => [name]) : levels
    return apart.map((group) => ({ kind, components: group }))
  })
  return groups.map((group, index) => ({ index, ...group, timeLimitMinutes: batchTimeoutMinutes(group.kind) }))
}

/** Groups components after all their dependencies, direct or not; a cycle is one group. */
function levelsOf(names: readonly string[], components: readonly DependentComponent[]): string[][] {
  const direct = new Map(components.map(({ name, dependsOn }) => [name, dependsOn.map((one) => one.name)]))
  const needs = new Map(names.map((name) => [name, reachable(name, direct)]))
  const levels: string[][] = []
  let left = [...names].sort()
  while (left.length > 0) {
    const free = left.filter((name) => !left.some((one) => one !== name && needs.get(name)?.has(one)))
    const level = free.length > 0 ? free : left
    levels.push(level)
    left = left.filter((name) => !level.includes(name))
  }
  return levels
}

function reachable(name: string, direct: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set(direct.get(name))
  for (const one of found) for (const next of direct.get(one) ?? []) found.add(next)
  return found
}
