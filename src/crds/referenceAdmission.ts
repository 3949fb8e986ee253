import { OUTPUTS, type OutputCollection, verbOfOutput } from '../contracts/references.ts'
import type { AdmissionRule } from './define.ts'

const mayReadSecrets = (group: string, plural: string, name: string, verb = 'readsecrets') =>
  `authorizer.group('${group}').resource('${plural}').namespace(request.namespace).name(${name}).check('${verb}').allowed()`
export const mayReadVault = (reference: string) =>
  mayReadSecrets('data.freehold.dev', 'secretvaults', `${reference}.vaultName`)
const PLURALS: Readonly<Record<OutputCollection, readonly [group: string, plural: string]>> = {
  vectorclusters: ['data.freehold.dev', 'vectorclusters'],
  relationalclusters: ['data.freehold.dev', 'relationalclusters'],
  sqlclusters: ['data.freehold.dev', 'sqlinstances'],
  containerinstances: ['compute.freehold.dev', 'containerinstances'],
  apps: ['compute.freehold.dev', 'platformapps'],
  staticwebapps: ['compute.freehold.dev', 'staticwebapps'],
  functionnamespaces: ['compute.freehold.dev', 'functionnamespaces'],
  objectstorageaccounts: ['data.freehold.dev', 'objectstorageaccounts'],
}

/**
 * Whether whoever writes may read all that variables of the group can refer to, where a rule cannot see the variables.
 * An expression has room for two questions to the authorizer, so each is one of its own.
 */
export const mayReadEverySecret: readonly { plural: string; cel: string }[] = [
  ['data.freehold.dev', 'secretvaults', 'readsecrets'] as const,
  ...Object.entries(PLURALS)
    .filter(([collection]) => OUTPUTS[collection as OutputCollection].secret.length > 0)
    .map(([collection, place]) => [...place, verbOfOutput(collection as OutputCollection, true)] as const),
].map(([group, plural, verb]) => ({
  plural,
  cel: `authorizer.group('${group}').resource('${plural}').namespace(request.namespace).check('${verb}').allowed()`,
}))

/** Whether the output that the variable `e` may refer to may be read by whoever writes. */
export const mayReadOutput = `!has(e.output) || ${Object.entries(PLURALS)
  .map(([collection, [group, plural]]) => {
    const plain = OUTPUTS[collection as OutputCollection].plain.map((name) => `'${name}'`).join(', ')
    const may = (isSecret: boolean) =>
      mayReadSecrets(group, plural, 'e.output.name', verbOfOutput(collection as OutputCollection, isSecret))
    return `(e.output.collection == '${collection}' && (e.output.output in [${plain}] ? ${may(false)} : ${may(true)}))`
  })
  .join(' || ')}`

/**
 * References were checked when they were written: who changes nothing that could show their values needs no right to
 * read them.
 */
export const unchanged = (...parts: string[]) =>
  `(request.operation == 'UPDATE' && ${parts.map((part) => `object.spec.?${part} == oldObject.spec.?${part}`).join(' && ')})`

/**
 * Who makes containers refer to what is secret may read it.
 *
 * @param content fields that decide who gets to see the values; commands of backup hooks run in the containers too
 * @param variables CEL that asks `test` of each variable `e`
 */
export const referenceAdmission = ({
  content,
  variables,
}: {
  content: readonly string[]
  variables: (test: string) => string
}): AdmissionRule[] => [
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged(...content)} || !object.spec.?managedIdentity.orValue(false) || authorizer.group('iam.freehold.dev').resource('managedidentities').namespace(request.namespace).check('readsecrets').allowed()`,
    message: 'managedIdentity gives its components credentials that you may not read',
  },
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged(...content)} || (${variables(`!has(e.secret) || ${mayReadVault('e.secret')}`)})`,
    message: 'env refers to a vault whose secrets you may not read',
  },
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged(...content)} || object.spec.?volumes.orValue([]).all(v, !has(v.secret) || ${mayReadVault('v.secret')})`,
    message: 'a volume refers to a vault whose secrets you may not read',
  },
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged('registryCredential')} || !has(object.spec.registryCredential) || ${mayReadVault('object.spec.registryCredential')}`,
    message: 'registryCredential refers to a vault whose secrets you may not read',
  },
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged(...content)} || (${variables(mayReadOutput)})`,
    message: 'env refers to an output of a resource that you may not read',
  },
]
