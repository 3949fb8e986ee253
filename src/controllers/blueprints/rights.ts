import { parseScope } from '../../core/scope.ts'
import { tryParseJsonObject } from '../../core/tryParseJson.ts'
import type { BlueprintCollection } from '../../crds/blueprintCollections.ts'
import type { BlueprintExecution, ExecutionStep } from '../../crds/blueprints.ts'
import { KINDS } from '../../crds/index.ts'
import { namesCurrentPrincipal, PRINCIPAL_RESOURCES, type PrincipalLookup } from '../../crds/principals.ts'
import { RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { type AccessReviewRequest, isAccessAllowed, subjectAccessReview } from '../../kube/accessReview.ts'
import type { Pass, Rights } from '../engine/controller.ts'
import { referenceAccessReviews } from './references.ts'

/** Rights needed to create access reviews. */
export const ACCESS_REVIEW_READS = PRINCIPAL_RESOURCES
export const ACCESS_REVIEW_RIGHTS: readonly Rights[] = [
  { resource: subjectAccessReview, verbs: ['create'], in: 'records' },
]

type AccessQuestion = Omit<AccessReviewRequest, 'user'>
type WrittenObject = {
  readonly step: Pick<ExecutionStep, 'body'>
  /** The spec as written: late values may add more than was checked when the deployment was requested. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly entry: BlueprintCollection
  readonly ref: { readonly namespace: string; readonly name: string }
  /** Namespace of the group that the deployment is in. */
  readonly group: string
  readonly isNew: boolean
}

/**
 * Returns the access review for the same write with kubectl. For a part whose name does not reveal its parent, it is
 * about the parent; for a role assignment, it is the virtual verb `grant` at the assignment's scope.
 */
export function accessReviewFor({ step, spec, entry, ref, group, isNew }: WrittenObject): AccessQuestion {
  const { kind, part } = entry
  const { resource, partOf } = kind
  if (kind.kind === RoleAssignment.kind) return grantQuestion(spec, group)
  if (isNew && part !== undefined && partOf !== undefined && 'verb' in partOf) {
    const holder = KINDS.find(({ segment }) => segment === partOf.collection)
    const name = String(tryParseJsonObject(step.body)?.[part.parentField] ?? '')
    if (holder !== undefined)
      return { verb: partOf.verb, group: resource.group, resource: holder.plural, namespace: ref.namespace, name }
  }
  const verb = isNew ? 'create' : 'patch'
  return { verb, group: resource.group, resource: resource.plural, ...ref }
}

function grantQuestion({ roleDefinitionName, scope }: WrittenObject['spec'], namespace: string): AccessQuestion {
  const parsed = parseScope(String(scope))
  const { group, plural: resource } = RoleDefinition.resource
  const subresource = parsed?.level === 'resource' ? { subresource: `${parsed.collection}/${parsed.name}` } : {}
  return { verb: 'grant', group, resource, ...subresource, namespace, name: String(roleDefinitionName ?? '') }
}

const VERB_PHRASES: Readonly<Record<string, string>> = {
  readsecrets: 'read the secrets of',
  get: 'read',
  createkeys: 'make keys of',
}

/**
 * Returns what the user who started the deployment lacks to write the component; undefined if the user still may, and
 * is still the same incarnation.
 */
export async function findMissingRight(
  pass: Pass<typeof BlueprintExecution>,
  written: WrittenObject & {
    /** Specs whose references are asked about. */ readonly references: readonly WrittenObject['spec'][]
  },
): Promise<string | undefined> {
  const { object, records } = pass
  const { startedBy } = object.spec
  const { entry, group, references } = written
  const own = `Whoever deployed it no longer has the permission ${entry.action} for it.`
  const find: PrincipalLookup = (resource, namespace, name) => records.cache(resource).get(namespace, name)
  if (!namesCurrentPrincipal(find, object, startedBy)) return own
  const may = (question: AccessQuestion) => isAccessAllowed(records.client, { user: `p:${startedBy}`, ...question })
  if (!(await may(accessReviewFor(written)))) return own
  const spaces = { group, boundary: object.metadata.namespace ?? '' }
  for (const question of references.flatMap((one) => referenceAccessReviews(one, spaces))) {
    if (await may(question)) continue
    const { verb, resource, name } = question
    return `Whoever deployed it may not ${VERB_PHRASES[verb] ?? verb} ${resource}${name === undefined ? '' : ` "${name}"`}, to which it refers.`
  }
  return undefined
}
