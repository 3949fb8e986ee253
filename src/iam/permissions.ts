import { type ActionPattern, compilePattern, matchesPattern } from '../core/actionPatterns.ts'
import { ACTIONS, type ActionDefinition, type ActionName } from '../core/actions.ts'

/** What a role grants, as it is written: patterns, `not…` taking away from the same list only. */
export type Permissions = {
  readonly actions: readonly string[]
  readonly notActions: readonly string[]
  readonly dataActions: readonly string[]
  readonly notDataActions: readonly string[]
}

/** A set of actions as bits, the place of each being its index in ACTIONS. */
export type ActionSet = Uint32Array

const WORDS = Math.ceil(ACTIONS.length / 32)

export function emptyActionSet(): ActionSet {
  return new Uint32Array(WORDS)
}

export function hasAction(set: ActionSet, index: number): boolean {
  return ((set[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0
}

export function addAction(set: ActionSet, index: number): void {
  set[index >>> 5] = (set[index >>> 5] ?? 0) | (1 << (index & 31))
}

/** Adds all of `more` to `set`. */
export function unite(set: ActionSet, more: ActionSet): void {
  for (let word = 0; word < WORDS; word += 1) set[word] = (set[word] ?? 0) | (more[word] ?? 0)
}

/** Takes all of `less` out of `set`. */
export function subtract(set: ActionSet, less: ActionSet): void {
  for (let word = 0; word < WORDS; word += 1) set[word] = (set[word] ?? 0) & ~(less[word] ?? 0)
}

/** Keeps in `set` only what is in `other` too. */
export function intersect(set: ActionSet, other: ActionSet): void {
  for (let word = 0; word < WORDS; word += 1) set[word] = (set[word] ?? 0) & (other[word] ?? 0)
}

export function isSubset(inner: ActionSet, outer: ActionSet): boolean {
  for (let word = 0; word < WORDS; word += 1) if (((inner[word] ?? 0) & ~(outer[word] ?? 0)) !== 0) return false
  return true
}

export function actionNames(set: ActionSet): ActionName[] {
  return ACTIONS.filter((action) => hasAction(set, action.index)).map((action) => action.name)
}

/** Root actions: no assignment below `/` grants them. */
export const ROOT_ACTION_SET: ActionSet = selectActions((action) => action.isRoot)

export type CompiledPermissions = {
  /** What is granted at `/`. */
  readonly atRoot: ActionSet
  /** What is granted at any other scope: the same without root actions. */
  readonly belowRoot: ActionSet
  /** For actions below an open prefix, which have no bit. */
  readonly actions: readonly ActionPattern[]
  readonly notActions: readonly ActionPattern[]
}

/** Reads the patterns once, so that a decision is a bit. Throws InvalidActionPattern. */
export function compilePermissions(permissions: Permissions): CompiledPermissions {
  const actions = permissions.actions.map(compilePattern)
  const notActions = permissions.notActions.map(compilePattern)
  const dataActions = permissions.dataActions.map(compilePattern)
  const notDataActions = permissions.notDataActions.map(compilePattern)
  const atRoot = selectActions(({ name, isData }) =>
    isData
      ? covers(dataActions, name) && !covers(notDataActions, name)
      : covers(actions, name) && !covers(notActions, name),
  )
  const belowRoot = atRoot.slice()
  subtract(belowRoot, ROOT_ACTION_SET)
  return { atRoot, belowRoot, actions, notActions }
}

/** Grants nothing: stands for a role that was named before it was seen, or was deleted. */
export const NO_PERMISSIONS: CompiledPermissions = compilePermissions({
  actions: [],
  notActions: [],
  dataActions: [],
  notDataActions: [],
})

/** Whether an action below an open prefix is granted. */
export function coversOpenAction(permissions: CompiledPermissions, action: string): boolean {
  return covers(permissions.actions, action) && !covers(permissions.notActions, action)
}

export function covers(patterns: readonly ActionPattern[], action: string): boolean {
  return patterns.some((pattern) => matchesPattern(pattern, action))
}

function selectActions(selected: (action: ActionDefinition) => boolean): ActionSet {
  const set = emptyActionSet()
  for (const action of ACTIONS) if (selected(action)) addAction(set, action.index)
  return set
}
