import { PlatformJob } from '../../../src/crds/jobs.ts'
import { cases, fixed, ID, type RuleCase, TAGS } from './case.ts'

const IMAGE = 'docker.io/library/python'
const OTHERS = {
  clusterId: ID,
  tag: '3.13',
  computePlan: 'job-large',
  command: ['python'],
  args: ['-V'],
  env: { A: 'b' },
  retries: 1,
  noRetryExitCodes: [2],
  activeDeadlineSeconds: 60,
  ttlSecondsAfterFinished: 60,
  runAsUser: 1000,
  tags: { team: 'search' },
}
const NAMES = 'names in env are letters, digits and underscores, at most 128, and do not begin with a digit'
const SUM = 'values in env have at most 262144 characters in all'
const long = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${index}`, 'x'.repeat(32_768)]))
const references = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${index}`, '@vault(keys/token)']))

export const WORKLOAD_RULES: readonly RuleCase[] = [
  ...cases(PlatformJob, { image: IMAGE }, [
    ['admits an image', undefined, {}],
    ['admits the same again', {}, {}],
    ['refuses another image', {}, { image: 'docker.io/library/node' }, fixed('image')],
    ...Object.entries(OTHERS).map(
      ([field, value]) =>
        [`refuses another ${field}`, {}, { [field]: value }, fixed(field)] as [string, object, object, string],
    ),
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['admits plain values and vault references', undefined, { env: { A: '1', _b2: '@vault(keys/Token-1)' } }],
    ['refuses a variable with a hyphen', undefined, { env: { 'a-b': '1' } }, NAMES],
    ['refuses a variable that begins with a digit', undefined, { env: { '1a': '1' } }, NAMES],
    ['admits eight long values', undefined, { env: long(8) }],
    ['refuses nine', undefined, { env: long(9) }, SUM],
    ['admits twenty vault references', undefined, { env: references(20) }],
    ['refuses twenty-one', undefined, { env: references(21) }, 'env refers to at most 20 vault secrets'],
  ]),
]
