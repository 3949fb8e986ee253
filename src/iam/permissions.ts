import { type ActionPattern, compilePattern, matchesPattern } from '../core/actionPatterns.ts'
import { ACTIONS, type ActionDefinition, type ActionName } from '../core/actions.ts'

/** The patterns of a role. `notActions` subtracts from `actions` only, `notDataActions` from `dataActions` only. */
export type Permissions = {
  readonly actions: readonly string[]
  readonly notActions: readonly string[]
  readonly dataActions: readonly string[]
  readonly notDataActions: readonly string[]
}

/** A bit set of actions; the bit of an action is its index in ACTIONS. */
export type ActionSet = Uint32Array

const BITSET_WORDS = Math.ceil(ACTIONS.length / 32)

export function emptyActionSet(): ActionSet {
  return new Uint32Array(BITSET_WORDS)
}

export function hasAction(set: ActionSet, index: number): boolean {
  return ((set[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0
}

export function addAction(set: ActionSet, index: number): void {
  set[index >>> 5] = (set[index >>> 5] ?? 0) | (1 << (index & 31))
}

/** Adds all of `more` to `set`. */
export function unite(set: ActionSet, added: ActionSet): void {
  for (let word = 0; word < BITSET_WORDS; word += 1) set[word] = (set[word] ?? 0) | (added[word] ?? 0)
}

/** Removes all of `less` from `set`. */
export function subtract(set: ActionSet, less: ActionSet): void {
  for (let word = 0; word < BITSET_WORDS; word += 1) set[word] = (set[word] ?? 0) & ~(less[word] ?? 0)
}

/** Keeps in `set` only what is also in `other`. */
export function intersect(set: ActionSet, other: ActionSet): void {
  for (let word = 0; word < BITSET_WORDS; word += 1) set[word] = (set[word] ?? 0) & (other[word] ?? 0)
}

export function isSubset(inner: ActionSet, outer: ActionSet): boolean {
  for (let word = 0; word < BITSET_WORDS; word += 1) if (((inner[word] ?? 0) & ~(outer[word] ?? 0)) !== 0) return false
  return true
}

export function actionNames(set: ActionSet): ActionName[] {
  return ACTIONS.filter((action) => hasAction(set, action.index)).map((action) => action.name)
}

/** Actions that no assignment below `/` grants. */
export const ROOT_ACTION_SET: ActionSet = selectActions((action) => action.isRoot)

export type CompiledPermissions = {
  /** The actions granted at `/`. */
  readonly atRoot: ActionSet
  /** The actions granted at any other scope: the same without root actions. */
  readonly belowRoot: ActionSet
  /** The patterns, for actions below an open prefix, which have no bit. */
  readonly actions: readonly ActionPattern[]
  readonly notActions: readonly ActionPattern[]
}

/** Compiles the patterns once, so that a decision only tests a bit. Throws InvalidActionPattern. */
export function compilePermissions(permissions: Permissions): CompiledPermissions {
  const actions = permissions.actions.map(compilePattern)
  const notActions = permissions.notActions.map(compilePattern)
  const dataActions = permissions.dataActions.map(compilePattern)
  const notDataActions = permissions.notDataActions.map(compilePattern)
  const atRoot = selectActions(({ name, isData }) =>
    isData
      ? matchesAnyPattern(dataActions, name) && !matchesAnyPattern(notDataActions, name)
      : matchesAnyPattern(actions, name) && !matchesAnyPattern(notActions, name),
  )
  const belowRoot = atRoot.slice()
  subtract(belowRoot, ROOT_ACTION_SET)
  return { atRoot, belowRoot, actions, notActions }
}

/** Grants nothing. Stands for a role whose definition has not arrived yet or was deleted. */
export const NO_PERMISSIONS: CompiledPermissions = compilePermissions({
  actions: [],
  notActions: [],
  dataActions: [],
  notDataActions: [],
})

/** Returns whether an action below an open prefix is granted. */
export function coversOpenAction(permissions: CompiledPermissions, action: string): boolean {
  return matchesAnyPattern(permissions.actions, action) && !matchesAnyPattern(permissions.notActions, action)
}

export function matchesAnyPattern(patterns: readonly ActionPattern[], action: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, action))
}

function selectActions(selected: (action: ActionDefinition) => boolean): ActionSet {
  const set = emptyActionSet()
  for (const action of ACTIONS) if (selected(action)) addAction(set, action.index)
  return set
}
