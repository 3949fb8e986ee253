import { OUTPUTS, type OutputCollection, verbOfOutput } from '../contracts/references.ts'
import type { AdmissionRule } from './define.ts'

const mayReadSecrets = (group: string, plural: string, name: string, verb = 'readsecrets') =>
  `authorizer.group('${group}').resource('${plural}').namespace(request.namespace).name(${name}).check('${verb}').allowed()`
export const celMayReadVault = (reference: string) =>
  mayReadSecrets('data.freehold.dev', 'secretvaults', `${reference}.vaultName`)

/** API group and plural of the collections with outputs. */
export const OUTPUT_RESOURCES: Readonly<Record<OutputCollection, readonly [group: string, plural: string]>> = {
  vectorclusters: ['data.freehold.dev', 'vectorclusters'],
  relationalclusters: ['data.freehold.dev', 'relationalclusters'],
  sqlclusters: ['data.freehold.dev', 'sqlinstances'],
  containerinstances: ['compute.freehold.dev', 'containerinstances'],
  apps: ['compute.freehold.dev', 'platformapps'],
  staticwebapps: ['compute.freehold.dev', 'staticwebapps'],
  functionnamespaces: ['compute.freehold.dev', 'functionnamespaces'],
  objectstorageaccounts: ['data.freehold.dev', 'objectstorageaccounts'],
}

const outputVerb = (collection: string, isSecret: boolean) => verbOfOutput(collection as OutputCollection, isSecret)
const mayEvery = (group: string, plural: string, verb: string) =>
  `authorizer.group('${group}').resource('${plural}').namespace(request.namespace).check('${verb}').allowed()`
const wideName = (plural: string, verb: string) => `mayEvery_${plural}_${verb}`
const VAULTS = ['data.freehold.dev', 'secretvaults', 'readsecrets'] as const
const IDENTITIES = ['iam.freehold.dev', 'managedidentities', 'readsecrets'] as const
const READ_OUTPUTS = Object.entries(OUTPUT_RESOURCES).flatMap(([collection, place]) =>
  [false, true].map((isSecret) => [...place, outputVerb(collection, isSecret)] as const),
)

/** Whether the writer may read all resources of a kind in the group. Evaluated at most once, and only if needed. */
export const REFERENCE_VARIABLES: readonly { name: string; expression: string }[] = [
  ...new Map([VAULTS, IDENTITIES, ...READ_OUTPUTS].map((place) => [wideName(place[1], place[2]), place])),
].map(([name, [group, plural, verb]]) => ({
  name,
  expression: mayEvery(group, plural, verb),
}))

/** CEL tests of one reference: `wide` by a right to all resources of the kind, `narrow` by a right to the named one. */
type ReferenceTests = { readonly wide: string; readonly narrow: string }

const vaultReference = (reference: string): ReferenceTests => ({
  wide: `!has(${reference}) || ${mayReadEveryVault}`,
  narrow: `!has(${reference}) || ${celMayReadVault(reference)}`,
})
const mayReadEveryVault = `variables.${wideName('secretvaults', 'readsecrets')}`

/** For the output that the CEL variable `e` may refer to. */
const outputReference: ReferenceTests = { wide: outputTest(undefined), narrow: outputTest('e.output.name') }

/** @param name CEL for the resource to check; all resources at once when absent */
function outputTest(name: string | undefined): string {
  const tests = Object.entries(OUTPUT_RESOURCES).map(([collection, [group, plural]]) => {
    const plain = OUTPUTS[collection as OutputCollection].plain.map((name) => `'${name}'`).join(', ')
    const mayRead = (isSecret: boolean) => {
      const verb = outputVerb(collection, isSecret)
      return name === undefined ? `variables.${wideName(plural, verb)}` : mayReadSecrets(group, plural, name, verb)
    }
    return `(e.output.collection == '${collection}' && (e.output.output in [${plain}] ? ${mayRead(false)} : ${mayRead(true)}))`
  })
  return `!has(e.output) || ${tests.join(' || ')}`
}

/** Maximum authorizer checks of single resources that one expression has room for. */
const NARROW_CHECKS_MAX = 2

/** Returns API group and plural of a collection with secrets, and the verb for reading these. */
export function secretsResourceOf(collection: string): readonly [group: string, plural: string, verb: string] {
  if (collection === VAULTS[1]) return VAULTS
  if (collection === IDENTITIES[1]) return IDENTITIES
  const [group, plural] = OUTPUT_RESOURCES[collection as OutputCollection]
  return [group, plural, outputVerb(collection, true)]
}

/**
 * CEL for whether the writer may read the secrets of everything in a list, as `<collection>` or `<collection>/<name>`.
 *
 * @param list CEL of the list
 */
export function celMayReadAll(list: string, collections: readonly string[]): string {
  const isFew = `size(${list}.filter(o, o.contains('/'))) <= ${NARROW_CHECKS_MAX}`
  const tests = collections.map((collection) => {
    const [group, plural, verb] = secretsResourceOf(collection)
    const wide = `variables.${wideName(plural, verb)}`
    const narrow = `t.startsWith('${collection}/') && ${isFew} && ${mayReadSecrets(group, plural, `t.split('/')[1]`, verb)}`
    return `((t == '${collection}' || t.startsWith('${collection}/')) && ${wide}) || (${narrow})`
  })
  return `${list}.all(t, ${tests.join(' || ')})`
}

/**
 * CEL for whether the writer may read everything that is referred to. A few references are checked one by one; more
 * need the right to all resources of the kind.
 *
 * @param each CEL that applies a test to each reference
 * @param count CEL of the number of references
 */
const mayRead = ({ wide, narrow }: ReferenceTests, each: (test: string) => string, count: string) =>
  `(${each(wide)} || (${count} <= ${NARROW_CHECKS_MAX} && ${each(narrow)}))`

const TOO_MANY =
  'kubectl accepts only from callers who may read those of all resources of its kind in the group: use REST, which checks each one'
const refusalMessage = (what: string, whole: string, count: string) => ({
  message: whole,
  messageCel: `${count} > ${NARROW_CHECKS_MAX} ? '${what} refers to more than two secrets or outputs, which ${TOO_MANY}' : '${whole}'`,
})

const inList = (list: string, name: string) => ({
  each: (test: string) => `${list}.all(${name}, ${test})`,
  count: (field: string) => `size(${list}.filter(${name}, has(${name}.${field})))`,
})
type Variables = ReturnType<typeof inList>

const VARIABLES: Variables = inList('object.spec.?env.orValue([])', 'e')

export const environmentAdmission = (skipped: string, { each, count }: Variables = VARIABLES): AdmissionRule[] => [
  {
    on: 'WRITE',
    cel: `${skipped} || ${mayRead(vaultReference('e.secret'), each, count('secret'))}`,
    ...refusalMessage('env', 'env refers to a vault whose secrets you may not read', count('secret')),
  },
  {
    on: 'WRITE',
    cel: `${skipped} || ${mayRead(outputReference, each, count('output'))}`,
    ...refusalMessage('env', 'env refers to an output of a resource that you may not read', count('output')),
  },
]

/** For a list whose items may each refer to a vault. */
export function vaultListAdmission(skipped: string, list: string, field: string, what: string): AdmissionRule {
  const { each, count } = inList(list, 'p')
  return {
    on: 'WRITE',
    cel: `${skipped} || ${mayRead(vaultReference(`p.${field}`), each, count(field))}`,
    ...refusalMessage(what, `${what} refers to a vault whose secrets you may not read`, count(field)),
  }
}

/** For a map of variable names to texts. @param vaultOf CEL of the vault that `name` refers to */
export function vaultTextAdmission(map: string, isReference: string, vaultOf: string): AdmissionRule {
  const each = (test: string) => `${map}.all(name, !(${isReference}) || ${test})`
  const count = `size(${map}.filter(name, ${isReference}))`
  const narrow = mayReadSecrets('data.freehold.dev', 'secretvaults', vaultOf)
  return {
    on: 'CREATE',
    cel: `variables.isExempt || ${mayRead({ wide: mayReadEveryVault, narrow }, each, count)}`,
    ...refusalMessage('env', 'env refers to a vault whose secrets you may not read', count),
  }
}

/**
 * For a Kubernetes Secret that the platform reads because an object names it: only callers who may get it may name it,
 * and decide where its content goes. Otherwise it could be sent to a host of the writer's choice.
 *
 * @param field holds secretName, and where the content is used
 */
export const secretAdmission = (field: string): AdmissionRule => ({
  on: 'WRITE',
  cel: `variables.isExempt || !has(object.spec.${field}) || (request.operation == 'UPDATE' && oldObject.spec.?${field} == object.spec.?${field}) || authorizer.group('').resource('secrets').namespace(request.namespace).name(object.spec.${field}.secretName).check('get').allowed()`,
  message: `${field} names a Secret that you may not get`,
})

/** Whoever decides what runs beside an identity's credentials can read them. @param code what finds them */
export const identityAdmission = (skipped: string, code: string): AdmissionRule => ({
  on: 'WRITE',
  cel: `${skipped} || !object.spec.?managedIdentity.orValue(false) || ${mayEvery(...IDENTITIES)}`,
  message: `managedIdentity gives ${code} credentials that you may not read`,
})

/**
 * CEL for an update that leaves these fields as they are. References were checked when they were written: a writer who
 * changes nothing that could show their values needs no right to read them.
 */
export const celUnchanged = (...parts: string[]) =>
  `(request.operation == 'UPDATE' && ${parts.map((part) => `object.spec.?${part} == oldObject.spec.?${part}`).join(' && ')})`

/**
 * Callers who make containers refer to secrets must be allowed to read these.
 *
 * @param content fields that decide who can see the values; commands of backup hooks run in the containers too
 */
export const referenceAdmission = ({
  content,
  variables,
}: {
  content: readonly string[]
  variables?: Variables
}): AdmissionRule[] => [
  identityAdmission(`variables.isExempt || ${celUnchanged(...content)}`, 'its components'),
  ...environmentAdmission(`variables.isExempt || ${celUnchanged(...content)}`, variables),
  vaultListAdmission(
    `variables.isExempt || ${celUnchanged(...content)}`,
    'object.spec.?volumes.orValue([])',
    'secret',
    'a volume',
  ),
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${celUnchanged('registryCredential')} || !has(object.spec.registryCredential) || ${celMayReadVault('object.spec.registryCredential')}`,
    message: 'registryCredential refers to a vault whose secrets you may not read',
  },
]
