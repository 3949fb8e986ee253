import type { z } from 'zod'
import type { EnvironmentVariableField } from './containerFields.ts'
import { adaptComponentRules, variableRules as containerVariableRules } from './containerRules.ts'
import type { Rule } from './define.ts'
import { TriggerField, type TriggerInSpec } from './functionFields.ts'
import { withDefaults } from './schemaDefaults.ts'

type Variables = { env: z.output<typeof EnvironmentVariableField>[] }
type Triggers = { triggers?: z.output<typeof TriggerInSpec>[] | undefined }

/** Rules over `env` of function namespaces and of functions. */
export const functionVariableRules: readonly Rule<Variables>[] = adaptComponentRules(
  ({ env }) => ({ components: [{ name: 'function', image: 'image', env }], volumes: [] }),
  containerVariableRules('[self]', { volumes: false }),
  'env',
)

const completeTriggers = ({ triggers = [] }: Triggers) => triggers.map((trigger) => withDefaults(TriggerField, trigger))

export const triggerRules: readonly Rule<Triggers>[] = [
  {
    cel: "!has(self.triggers) || self.triggers.all(t, t.kind == 'Http' ? has(t.path) && !has(t.schedule) : has(t.schedule) && !has(t.path))",
    message: 'an Http trigger must have a path and no schedule, a Timer trigger a schedule and no path',
    field: 'triggers',
    test: (spec) =>
      completeTriggers(spec).every(({ kind, path, schedule }) =>
        kind === 'Http' ? path !== undefined && schedule === undefined : schedule !== undefined && path === undefined,
      ),
  },
  {
    cel: "!has(self.triggers) || self.triggers.all(t, (has(t.authLevel) && t.authLevel == 'Secret') == has(t.keySecret))",
    message: 'a trigger of authLevel Secret must have a keySecret, and no other may have one',
    field: 'triggers',
    test: (spec) =>
      completeTriggers(spec).every(
        ({ authLevel, keySecret }) => (authLevel === 'Secret') === (keySecret !== undefined),
      ),
  },
  {
    cel: '!has(self.triggers) || self.triggers.all(t, !has(t.path) || self.triggers.exists_one(o, has(o.path) && o.path == t.path))',
    message: 'no two triggers of a function may have the same path',
    field: 'triggers',
    test: (spec) => {
      const paths = completeTriggers(spec).flatMap(({ path }) => path ?? [])
      return new Set(paths).size === paths.length
    },
  },
]
