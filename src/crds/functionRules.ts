import type { z } from 'zod'
import { OUTPUTS, type OutputCollection, outputsOf } from '../contracts/references.ts'
import type { EnvironmentVariableField } from './containerFields.ts'
import type { Rule } from './define.ts'
import { charactersOf, MOST_OF_ALL_VALUES, MOST_REFERENCES } from './environment.ts'
import { TriggerField, type TriggerInSpec } from './functionFields.ts'
import { celList } from './workloadRules.ts'

type Variables = { env: z.output<typeof EnvironmentVariableField>[] }
type Triggers = { triggers?: z.output<typeof TriggerInSpec>[] | undefined }

const given = (...values: unknown[]) => values.filter((value) => value !== undefined).length

/** What `env` of a namespace and of a function may hold. */
export const variableRules: readonly Rule<Variables>[] = [
  {
    cel: 'self.env.all(e, [has(e.value), has(e.secret), has(e.output)].filter(x, x).size() == 1)',
    message: 'each variable in env has exactly one of value, secret and output',
    code: 'BAD_REQUEST',
    field: 'env',
    test: ({ env }) => env.every(({ value, secret, output }) => given(value, secret, output) === 1),
  },
  {
    cel: `self.env.all(e, !has(e.output) || e.output.output in {${Object.keys(OUTPUTS)
      .map((name) => `'${name}': ${celList(outputsOf(name as OutputCollection))}`)
      .join(', ')}}[e.output.collection])`,
    message: 'an output in env is one that the collection has',
    code: 'BAD_REQUEST',
    field: 'env',
    test: ({ env }) =>
      env.every(({ output }) => output === undefined || outputsOf(output.collection).includes(output.output)),
  },
  {
    cel: `self.env.map(e, has(e.value) ? size(e.value) : 0).sum() <= ${MOST_OF_ALL_VALUES}`,
    message: `values in env have at most ${MOST_OF_ALL_VALUES} characters in all`,
    code: 'BAD_REQUEST',
    field: 'env',
    test: ({ env }) => charactersOf(env.map(({ value = '' }) => value)) <= MOST_OF_ALL_VALUES,
  },
  {
    cel: `self.env.filter(e, has(e.secret) || has(e.output)).size() <= ${MOST_REFERENCES}`,
    message: `env refers to at most ${MOST_REFERENCES} secrets and outputs`,
    code: 'BAD_REQUEST',
    field: 'env',
    test: ({ env }) => given(...env.map(({ secret, output }) => secret ?? output)) <= MOST_REFERENCES,
  },
]

const whole = ({ triggers = [] }: Triggers) => triggers.map((trigger) => TriggerField.parse(trigger))

export const triggerRules: readonly Rule<Triggers>[] = [
  {
    cel: "!has(self.triggers) || self.triggers.all(t, t.kind == 'Http' ? has(t.path) && !has(t.schedule) : has(t.schedule) && !has(t.path))",
    message: 'an Http trigger has a path and no schedule, a Timer a schedule and no path',
    code: 'BAD_REQUEST',
    field: 'triggers',
    test: (spec) =>
      whole(spec).every(({ kind, path, schedule }) =>
        kind === 'Http' ? path !== undefined && schedule === undefined : schedule !== undefined && path === undefined,
      ),
  },
  {
    cel: "!has(self.triggers) || self.triggers.all(t, (has(t.authLevel) && t.authLevel == 'Secret') == has(t.keySecret))",
    message: 'a trigger of authLevel Secret has a keySecret, and no other has one',
    code: 'BAD_REQUEST',
    field: 'triggers',
    test: (spec) =>
      whole(spec).every(({ authLevel, keySecret }) => (authLevel === 'Secret') === (keySecret !== undefined)),
  },
  {
    cel: '!has(self.triggers) || self.triggers.all(t, !has(t.path) || self.triggers.exists_one(o, has(o.path) && o.path == t.path))',
    message: 'no two triggers of a function have one path',
    code: 'BAD_REQUEST',
    field: 'triggers',
    test: (spec) => {
      const paths = whole(spec).flatMap(({ path }) => path ?? [])
      return new Set(paths).size === paths.length
    },
  },
]
