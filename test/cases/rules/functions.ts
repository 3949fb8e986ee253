import { OUTPUTS, type OutputCollection, outputsOf } from '../../../src/contracts/references.ts'
import { FunctionNamespace, ServerlessFunction } from '../../../src/crds/functions.ts'
import { CIDRS, cases, fixed, ID, type RuleCase, TAGS } from './case.ts'

type Case = [name: string, previous: object | undefined, next: object, ...refused: string[]]

const ONE = 'each variable in env must have exactly one of value, secret and output'
const OUTPUT = `outputs are, of ${Object.keys(OUTPUTS)
  .map((name) => `${name}: ${outputsOf(name as OutputCollection).join(', ')}`)
  .join('; of ')}`
const SUM = 'values in env must have at most 262144 characters together'
const REFERENCES = 'env may refer to at most 20 secrets and outputs'
const output = (name: string) => ({ collection: 'vectorclusters', name: 'products', output: name })
const many = (count: number, rest: object) => Array.from({ length: count }, (_, at) => ({ name: `A${at}`, ...rest }))
const keySecret = { vaultName: 'keys', secretName: 'Token' }

const variables: Case[] = [
  ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  [
    'each form of a variable',
    undefined,
    {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', secret: keySecret },
        { name: 'C', output: output('apiKey') },
      ],
    },
  ],
  ['a variable with two forms', undefined, { env: [{ name: 'A', value: '1', secret: keySecret }] }, ONE],
  ['a variable without a value', undefined, { env: [{ name: 'A' }] }, ONE],
  ['an unknown output', undefined, { env: [{ name: 'A', output: output('host') }] }, OUTPUT],
  ['values of 262144 characters', undefined, { env: many(8, { value: 'x'.repeat(32_768) }) }],
  ['values of more than 262144 characters', undefined, { env: many(9, { value: 'x'.repeat(32_768) }) }, SUM],
  ['20 references', undefined, { env: many(20, { secret: keySecret }) }],
  ['21 references', undefined, { env: many(21, { secret: keySecret }) }, REFERENCES],
]

const FORM = 'an Http trigger must have a path and no schedule, a Timer trigger a schedule and no path'
const KEY = 'a trigger of authLevel Secret must have a keySecret, and no other may have one'
const PATHS = 'no two triggers of a function may have the same path'
const NAMES = 'the names of a function and of its namespace have at most 62 characters together'
const web = { name: 'web', kind: 'Http', path: '/' }
const timer = { name: 'night', kind: 'Timer', schedule: '0 2 * * *' }
const secret = { ...web, authLevel: 'Secret' }

export const FUNCTION_RULES: readonly RuleCase[] = [
  ...cases(FunctionNamespace, { runtime: 'nodejs' }, [
    ['a runtime', undefined, {}],
    ['an unchanged spec', {}, {}],
    ['another runtime', {}, { runtime: 'python' }, fixed('runtime')],
    ['another cluster', {}, { clusterId: ID }, fixed('clusterId')],
    ['networks', undefined, { allowedCidrs: '203.0.113.0/24' }],
    ['an invalid network', undefined, { allowedCidrs: 'everybody' }, CIDRS],
    ...variables,
  ]),
  ...cases(ServerlessFunction, { namespaceName: 'shop', functionName: 'orders', handler: 'index' }, [
    ['a handler', undefined, {}],
    ['an unchanged spec', {}, {}],
    ['another namespace', {}, { namespaceName: 'other' }, fixed('namespaceName')],
    ['another name', {}, { functionName: 'other' }, fixed('functionName')],
    ...variables,
    ['both kinds of triggers', undefined, { triggers: [web, timer] }],
    ['an Http trigger without a path', undefined, { triggers: [{ name: 'web', kind: 'Http' }] }, FORM],
    ['a Timer with a path', undefined, { triggers: [{ ...timer, path: '/x' }] }, FORM],
    ['a key', undefined, { triggers: [{ ...secret, keySecret }] }],
    ['a level without its key', undefined, { triggers: [secret] }, KEY],
    ['a key without its level', undefined, { triggers: [{ ...web, keySecret }] }, KEY],
    ['a duplicate path', undefined, { triggers: [web, { ...web, name: 'again' }] }, PATHS],
    ['names of 62 characters', undefined, { functionName: 'x'.repeat(52), namespaceName: 'y'.repeat(10) }],
    ['names of 63 characters', undefined, { functionName: 'x'.repeat(52), namespaceName: 'y'.repeat(11) }, NAMES],
    ['minReplicas equal to maxReplicas', undefined, { minReplicas: 5, maxReplicas: 5 }],
    [
      'minReplicas above maxReplicas',
      undefined,
      { minReplicas: 6, maxReplicas: 5 },
      'minReplicas must not be more than maxReplicas',
    ],
  ]),
]
