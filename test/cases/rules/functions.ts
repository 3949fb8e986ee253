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
  ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  [
    'admits each form of a variable',
    undefined,
    {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', secret: keySecret },
        { name: 'C', output: output('apiKey') },
      ],
    },
  ],
  ['refuses a variable with two forms', undefined, { env: [{ name: 'A', value: '1', secret: keySecret }] }, ONE],
  ['refuses a variable without any', undefined, { env: [{ name: 'A' }] }, ONE],
  ['refuses an output that is not there', undefined, { env: [{ name: 'A', output: output('host') }] }, OUTPUT],
  ['admits eight long values', undefined, { env: many(8, { value: 'x'.repeat(32_768) }) }],
  ['refuses nine', undefined, { env: many(9, { value: 'x'.repeat(32_768) }) }, SUM],
  ['admits twenty references', undefined, { env: many(20, { secret: keySecret }) }],
  ['refuses twenty-one', undefined, { env: many(21, { secret: keySecret }) }, REFERENCES],
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
    ['admits a runtime', undefined, {}],
    ['admits the same again', {}, {}],
    ['refuses another runtime', {}, { runtime: 'python' }, fixed('runtime')],
    ['refuses another cluster', {}, { clusterId: ID }, fixed('clusterId')],
    ['admits networks', undefined, { allowedCidrs: '203.0.113.0/24' }],
    ['refuses what is no network', undefined, { allowedCidrs: 'everybody' }, CIDRS],
    ...variables,
  ]),
  ...cases(ServerlessFunction, { namespaceName: 'shop', functionName: 'orders', handler: 'index' }, [
    ['admits a handler', undefined, {}],
    ['admits the same again', {}, {}],
    ['refuses another namespace', {}, { namespaceName: 'other' }, fixed('namespaceName')],
    ['refuses another name', {}, { functionName: 'other' }, fixed('functionName')],
    ...variables,
    ['admits both kinds of triggers', undefined, { triggers: [web, timer] }],
    ['refuses an Http trigger without a path', undefined, { triggers: [{ name: 'web', kind: 'Http' }] }, FORM],
    ['refuses a Timer with a path', undefined, { triggers: [{ ...timer, path: '/x' }] }, FORM],
    ['admits a key', undefined, { triggers: [{ ...secret, keySecret }] }],
    ['refuses a level that lacks its key', undefined, { triggers: [secret] }, KEY],
    ['refuses a key that nobody asks for', undefined, { triggers: [{ ...web, keySecret }] }, KEY],
    ['refuses one path twice', undefined, { triggers: [web, { ...web, name: 'again' }] }, PATHS],
    ['admits names of 62 characters', undefined, { functionName: 'x'.repeat(52), namespaceName: 'y'.repeat(10) }],
    ['refuses longer ones', undefined, { functionName: 'x'.repeat(52), namespaceName: 'y'.repeat(11) }, NAMES],
    ['admits as many copies as there may be', undefined, { minReplicas: 5, maxReplicas: 5 }],
    ['refuses more', undefined, { minReplicas: 6, maxReplicas: 5 }, 'minReplicas must not be more than maxReplicas'],
  ]),
]
