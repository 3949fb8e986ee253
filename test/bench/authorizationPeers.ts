import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { newEnforcer, newModelFromString } from 'casbin'
import { ACTIONS } from '../../src/core/actions.ts'
import { Evaluator } from '../../src/iam/evaluate.ts'
import { PolicyIndex } from '../../src/iam/policyIndex.ts'
import type { Assignment, Deny, PrincipalGroup } from '../../src/iam/records.ts'
import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { NOW } from '../make/authorizationPolicy.ts'
import { DENIED, drawQuestions, fill, processorTime, QUESTIONED, type Question, world } from './authorizationWorld.ts'

export type PeerFigure = {
  engine: string
  assignments: number
  /** As many questions as fit into the time; both engines gave the same answers before any time counted. */
  questions: number
  nanosecondsPerDecision: number
  /** Our evaluator, on all 10,000 questions in turn. */
  oursNanoseconds: number
  ratio: number
}

type Records = { assignments: Assignment[]; denies: Deny[]; groups: PrincipalGroup[]; asked?: readonly Question[] }
type Decide = (question: Question) => boolean

/** `*` at the begin or end of a pattern stands for one or more whole segments. */
function matches(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => new RegExp(`^${pattern.replaceAll('*', '.+')}$`).test(name))
}

type Patterns = Record<'actions' | 'notActions' | 'dataActions' | 'notDataActions', readonly string[]>

/** The requested actions that a role or a deny covers, computed without our evaluator. */
function covered(given: Patterns): string[] {
  return QUESTIONED.filter((name) => {
    const isData = ACTIONS.find((action) => action.name === name)?.isData === true
    const [yes, no] = isData ? [given.dataActions, given.notDataActions] : [given.actions, given.notActions]
    return matches(yes, name) && !matches(no, name)
  })
}

const DENIED_ACTIONS = covered({ ...DENIED, notActions: [], notDataActions: [] })

/** None if the role may not be assigned at such a scope. */
function actionsOf({ roleName, scope }: Assignment): string[] {
  const role = BUILT_IN_ROLES.find(({ displayName }) => displayName === roleName)
  const wanted = scope === '/' ? '/' : '/boundaries/*'
  return role?.assignableScopes.includes(wanted) ? covered(role) : []
}

const within = (scope: string, place: string) => place === '/' || scope === place || scope.startsWith(`${place}/`)

const MODEL = `
[request_definition]
r = sub, act, obj
[policy_definition]
p = sub, acts, obj, eft, id
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.sub == 'everyone' || g(r.sub, p.sub)) && within(r.obj, p.obj) && covers(p.acts, r.act) && !excluded(p.id, r.sub)
`

async function casbin({ assignments, denies, groups }: Records): Promise<Decide> {
  const enforcer = await newEnforcer(newModelFromString(MODEL))
  const sets = new Map<string, Set<string>>()
  const setOf = (names: readonly string[]) => {
    const text = names.join(' ')
    if (!sets.has(text)) sets.set(text, new Set(names))
    return text
  }
  const excluded = new Map(denies.map(({ id, excludedPrincipalIds }) => [id, new Set(excludedPrincipalIds)]))
  enforcer.addFunction('within', within)
  enforcer.addFunction('covers', (set: string, name: string) => sets.get(set)?.has(name) === true)
  enforcer.addFunction('excluded', (id: string, who: string) => excluded.get(id)?.has(who) === true)
  const model = enforcer.getModel()
  model.addPolicies(
    'g',
    'g',
    groups.flatMap(({ id, memberIds }) => memberIds.map((member) => [member, id])),
  )
  const allow = assignments.map((one) => [one.principalId, setOf(actionsOf(one)), one.scope, 'allow', one.id])
  const who = (deny: Deny) => (deny.principal === 'everyone' ? 'everyone' : deny.principal.id)
  const deny = denies.map((one) => [who(one), setOf(DENIED_ACTIONS), one.scope, 'deny', one.id])
  model.addPolicies('p', 'p', [...deny, ...allow])
  await enforcer.buildRoleLinks()
  return ({ principal, action, scope }) => enforcer.enforceSync(principal, action, scope)
}

const entity = (type: string, id: string) => ({ type, id })

function policyOf(effect: 'permit' | 'forbid', who: string, names: readonly string[], scope: string): cedar.PolicyJson {
  return {
    effect,
    principal: who === 'everyone' ? { op: 'All' } : { op: 'in', entity: entity('Principal', who) },
    action: { op: 'in', entities: names.map((name) => entity('Action', name)) },
    resource: scope === '/' ? { op: 'All' } : { op: 'in', entity: entity('Scope', scope) },
    conditions: [],
  }
}

function denyPolicy({ principal, scope, excludedPrincipalIds }: Deny): cedar.PolicyJson {
  const policy = policyOf('forbid', principal === 'everyone' ? principal : principal.id, DENIED_ACTIONS, scope)
  const spared = excludedPrincipalIds.map((id) => ({ Value: { __entity: entity('Principal', id) } }))
  return {
    ...policy,
    conditions: [{ kind: 'unless', body: { in: { left: { Var: 'principal' }, right: { Set: spared } } } }],
  }
}

/** The scopes above, nearest first: all that Cedar needs to know about a resource. */
function above(scope: string): string[] {
  const parts = scope.split('/').slice(1)
  return [4, 2].filter((length) => length < parts.length).map((length) => `/${parts.slice(0, length).join('/')}`)
}

function groupsByMember({ groups }: Records): (id: string) => string[] {
  const parents = new Map<string, string[]>()
  for (const { id, memberIds } of groups) {
    for (const member of memberIds) parents.set(member, [...(parents.get(member) ?? []), id])
  }
  return (id) => {
    const found = new Set<string>([id])
    for (const each of found) for (const parent of parents.get(each) ?? []) found.add(parent)
    found.delete(id)
    return [...found]
  }
}

let sets = 0

function preparse(policies: readonly cedar.PolicyJson[]): string {
  sets += 1
  const id = `set-${sets}`
  const staticPolicies = Object.fromEntries(policies.map((policy, index) => [`p${index}`, policy]))
  const answer = cedar.preparsePolicySet(id, { staticPolicies })
  if (answer.type === 'failure') throw new Error(`Cedar refused the policies: ${answer.errors[0]?.message}`)
  return id
}

function ask(policySet: string, groups: readonly string[], { principal, action, scope }: Question): boolean {
  const parents = above(scope)
  const answer = cedar.statefulIsAuthorized({
    principal: entity('Principal', principal),
    action: entity('Action', action),
    resource: entity('Scope', scope),
    context: {},
    preparsedPolicySetId: policySet,
    entities: [
      { uid: entity('Principal', principal), attrs: {}, parents: groups.map((id) => entity('Principal', id)) },
      { uid: entity('Scope', scope), attrs: {}, parents: parents.map((id) => entity('Scope', id)) },
    ],
  })
  if (answer.type === 'failure') throw new Error(`Cedar failed: ${answer.errors[0]?.message}`)
  return answer.response.decision === 'allow'
}

function permitPolicies(assignments: readonly Assignment[]): cedar.PolicyJson[] {
  return assignments.flatMap((one) => {
    const names = actionsOf(one)
    return names.length === 0 ? [] : [policyOf('permit', one.principalId, names, one.scope)]
  })
}

/** All policies parsed beforehand; the request contributes its two entities. */
async function cedarWhole(records: Records): Promise<Decide> {
  const groupsOf = groupsByMember(records)
  const set = preparse([...permitPolicies(records.assignments), ...records.denies.map(denyPolicy)])
  return (question) => ask(set, groupsOf(question.principal), question)
}

/** Cedar's advice for large stores: only policies for the principal, one of its groups, or everyone. */
async function cedarSliced(records: Records): Promise<Decide> {
  const groupsOf = groupsByMember(records)
  const grants = Map.groupBy(records.assignments, ({ principalId }) => principalId)
  const denies = Map.groupBy(records.denies, ({ principal }) => (principal === 'everyone' ? principal : principal.id))
  const slices = new Map<string, { set: string; groups: string[] }>()
  const sliceOf = (principal: string) => {
    const groups = groupsOf(principal)
    const subjects = [principal, ...groups]
    const permits = permitPolicies(subjects.flatMap((id) => grants.get(id) ?? []))
    const forbids = [...subjects, 'everyone'].flatMap((id) => denies.get(id) ?? []).map(denyPolicy)
    return { set: preparse([...permits, ...forbids]), groups }
  }
  for (const { principal } of records.asked ?? []) {
    if (!slices.has(principal)) slices.set(principal, sliceOf(principal))
  }
  return (question) => {
    const slice = slices.get(question.principal) ?? sliceOf(question.principal)
    return ask(slice.set, slice.groups, question)
  }
}

/**
 * A deny below the root does not apply to Owners of the platform. Other engines do not know this rule of ours, so such
 * denies list them as exceptions.
 */
function spareRootOwners({ assignments, denies, groups }: Records): void {
  const isOwner = ({ roleName, scope }: Assignment) => roleName === 'Owner' && scope === '/'
  const owners = new Set(assignments.filter(isOwner).map(({ principalId }) => principalId))
  const members = new Map(groups.map(({ id, memberIds }) => [id, memberIds]))
  for (const owner of owners) for (const member of members.get(owner) ?? []) owners.add(member)
  denies.forEach((deny, index) => {
    if (deny.scope === '/') return
    denies[index] = { ...deny, excludedPrincipalIds: [...deny.excludedPrincipalIds, ...owners] }
  })
}

const ENGINES: Record<string, (records: Records) => Promise<Decide>> = {
  'node-casbin': casbin,
  'cedar-wasm, whole': cedarWhole,
  'cedar-wasm, sliced per principal': cedarSliced,
}

/** Compares an engine's answers with ours, one by one, until its time is over. */
function agreeing(decide: Decide, ours: Decide, questions: readonly Question[], seconds: number): Question[] {
  const end = performance.now() + seconds * 1000
  const answered: Question[] = []
  for (const question of questions) {
    const [theirs, own] = [decide(question), ours(question)]
    if (theirs !== own)
      throw new Error(`The engines disagree on ${JSON.stringify(question)}: ${theirs} and ${own} (ours).`)
    answered.push(question)
    if (performance.now() > end) break
  }
  return answered
}

/** Processor time is reported in steps of milliseconds, so shorter runs are repeated. */
const LEAST_ROUND = 100_000_000

/** Nanoseconds for a decision, the median of the rounds. */
function timed(decide: Decide, questions: readonly Question[], rounds: number): number {
  const figures = Array.from({ length: rounds }, () => {
    const start = processorTime()
    for (let asked = questions.length; ; asked += questions.length) {
      for (const question of questions) decide(question)
      const spent = processorTime() - start
      if (spent >= LEAST_ROUND) return spent / asked
    }
  })
  return figures.toSorted((one, other) => one - other)[Math.floor(rounds / 2)] ?? 0
}

/**
 * The same policies and questions for our evaluator, node-casbin and Cedar. No time counts before all have answered
 * each question alike.
 *
 * @param seconds per engine and size for the comparison of answers; its timing takes three times as long
 * @throws Error naming the first question that two engines answer differently
 */
export async function comparePeers(
  sizes: readonly number[],
  seconds: number,
  write: (line: string) => void,
): Promise<PeerFigure[]> {
  const figures: PeerFigure[] = []
  for (const size of sizes) {
    const drawn = world(size)
    const records: Records = { assignments: [], denies: [], groups: [] }
    const sink = {
      upsertGroup: (group: PrincipalGroup) => void records.groups.push(group),
      upsertAssignment: (one: Assignment) => void records.assignments.push(one),
      upsertDeny: (deny: Deny) => void records.denies.push(deny),
    }
    fill(sink, size, drawn)
    spareRootOwners(records)
    const index = new PolicyIndex()
    for (const group of records.groups) index.upsertGroup(group)
    for (const one of records.assignments) index.upsertAssignment(one)
    for (const deny of records.denies) index.upsertDeny(deny)
    const questions = drawQuestions(drawn)
    const evaluator = new Evaluator(index)
    const ours: Decide = ({ principal, action, scope }) => evaluator.isAllowed(principal, action, scope, NOW)
    // Over all questions: the few that others can answer in time would stay in the processor's cache.
    const oursNanoseconds = Math.round(timed(ours, questions, 15))
    for (const [engine, make] of Object.entries(ENGINES)) {
      const decide = await make({ ...records, asked: questions })
      const asked = agreeing(decide, ours, questions, seconds)
      const nanosecondsPerDecision = Math.round(timed(decide, asked, 3))
      const ratio = Math.round(nanosecondsPerDecision / Math.max(1, oursNanoseconds))
      figures.push({
        engine,
        assignments: size,
        questions: asked.length,
        nanosecondsPerDecision,
        oursNanoseconds,
        ratio,
      })
      write(
        `${size} assignments, ${engine}: ${nanosecondsPerDecision} ns a decision, ${ratio} times ours (${asked.length} questions, all answered alike)`,
      )
    }
  }
  return figures
}
