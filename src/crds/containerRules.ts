import type { z } from 'zod'
import { IDENTITY_PATH } from '../contracts/managedIdentities.ts'
import { OUTPUTS, type OutputCollection, outputsOf } from '../contracts/references.ts'
import { compareQuantities } from '../core/quantity.ts'
import {
  type BackupPolicyInSpec,
  ComponentField,
  type ComponentSpec,
  VolumeField,
  type VolumeSpec,
} from './containerFields.ts'
import type { Rule } from './define.ts'
import { countCharacters, MAX_ALL_VALUES_CHARACTERS, SECRET_REFERENCES_MAX } from './environment.ts'
import { withDefaults } from './schemaDefaults.ts'
import { celList } from './workloadRules.ts'

/** Rules over components and volumes, for each kind that has them. */
type Containers = { components: ComponentSpec[]; volumes: VolumeSpec[] }
type ContainersInput = { components: z.input<typeof ComponentField>[]; volumes: z.input<typeof VolumeField>[] }

export function completeContainers<Spec extends ContainersInput>(
  spec: Spec,
): Omit<Spec, keyof Containers> & Containers {
  return {
    ...spec,
    components: spec.components.map((component) => withDefaults(ComponentField, component)),
    volumes: spec.volumes.map((volume) => withDefaults(VolumeField, volume)),
  }
}

const COMPONENTS_MAX = 10

type RuleText = { cel: string; message: string; field?: string; code?: Rule<ContainersInput>['code'] }

const refuse = (rule: RuleText, test: (next: Containers, previous: Containers) => boolean): Rule<ContainersInput> => ({
  field: 'components',
  ...rule,
  test: (next, previous) => test(completeContainers(next), completeContainers(previous)),
})

/** Makes a rule over each component; `list` is CEL for the list of components. */
const eachComponentIn =
  (list: string) => (rule: RuleText, test: (component: ComponentSpec, next: Containers) => boolean) =>
    refuse({ ...rule, cel: `${list}.all(c, ${rule.cel})` }, (next) =>
      next.components.every((component) => test(component, next)),
    )
const eachComponent = eachComponentIn('self.components')

const isUnique = (keys: readonly unknown[]) => new Set(keys).size === keys.length

const celCount = (...fields: string[]) => `[${fields.map((field) => `has(e.${field})`).join(', ')}].filter(x, x).size()`
const countPresent = (...values: unknown[]) => values.filter((value) => value !== undefined).length

const outputsInCel = `{${Object.keys(OUTPUTS)
  .map((name) => `'${name}': ${celList(outputsOf(name as OutputCollection))}`)
  .join(', ')}}`

/**
 * Applies rules over components to a kind whose spec has another form.
 *
 * @param view returns the spec as components and volumes
 * @param field replaces the field of the rules
 */
export const adaptComponentRules = <Spec>(
  view: (spec: Spec) => ContainersInput,
  rules: readonly Rule<never>[],
  field?: string,
) =>
  rules.map(
    ({ explain: _, test, ...rule }): Rule<Spec> => ({
      ...rule,
      field: field ?? rule.field,
      test: (next, previous) => test(view(next) as never, view(previous) as never),
    }),
  )

/**
 * @param list CEL for the list of components with variables
 * @param volumes whether the kind has volumes, which refer to secrets as well
 */
export const variableRules = (
  list: string,
  { volumes: hasVolumes } = { volumes: true },
): readonly Rule<ContainersInput>[] => [
  eachComponentIn(list)(
    {
      cel: `!has(c.env) || c.env.all(e, ${celCount('value', 'secret', 'output')} == 1)`,
      message: 'each variable in env must have exactly one of value, secret and output',
    },
    ({ env }) => env.every(({ value, secret, output }) => countPresent(value, secret, output) === 1),
  ),
  eachComponentIn(list)(
    {
      cel: `!has(c.env) || c.env.all(e, !has(e.output) || e.output.output in ${outputsInCel}[e.output.collection])`,
      message: `outputs are, of ${Object.keys(OUTPUTS)
        .map((name) => `${name}: ${outputsOf(name as OutputCollection).join(', ')}`)
        .join('; of ')}`,
    },
    ({ env }) =>
      env.every(({ output }) => output === undefined || outputsOf(output.collection).includes(output.output)),
  ),
  refuse(
    {
      cel: `${list}.map(c, has(c.env) ? c.env.map(e, has(e.value) ? size(e.value) : 0).sum() : 0).sum() <= ${MAX_ALL_VALUES_CHARACTERS}`,
      message: `values in env must have at most ${MAX_ALL_VALUES_CHARACTERS} characters together`,
    },
    ({ components }) =>
      countCharacters(components.flatMap(({ env }) => env.map(({ value = '' }) => value))) <= MAX_ALL_VALUES_CHARACTERS,
  ),
  refuse(
    {
      cel: `${list}.map(c, has(c.env) ? c.env.filter(e, has(e.secret) || has(e.output)).size() : 0).sum()${hasVolumes ? ' + self.volumes.filter(v, has(v.secret)).size()' : ''} <= ${SECRET_REFERENCES_MAX}`,
      message: hasVolumes
        ? `env and volumes may refer to at most ${SECRET_REFERENCES_MAX} secrets and outputs together`
        : `env may refer to at most ${SECRET_REFERENCES_MAX} secrets and outputs`,
    },
    ({ components, volumes }) =>
      countPresent(...components.flatMap(({ env }) => env.map(({ secret, output }) => secret ?? output))) +
        countPresent(...volumes.map(({ secret }) => secret)) <=
      SECRET_REFERENCES_MAX,
  ),
]

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const

const noGreater = (lower: 'cpuRequest' | 'memoryRequest', upper: 'cpuLimit' | 'memoryLimit') =>
  eachComponent(
    {
      cel: `!has(c.${lower}) || !has(c.${upper}) || quantity(c.${upper}).compareTo(quantity(c.${lower})) >= 0`,
      message: `${upper} of a component must not be less than its ${lower}`,
    },
    ({ [lower]: low, [upper]: high }) => low === undefined || high === undefined || compareQuantities(high, low) >= 0,
  )

/** CEL for the components whose dependencies are all in `names`. Repeated, it sorts topologically, like `sortByDependencies`. */
const readyInCel = (names: string) =>
  `self.components.filter(c, !has(c.dependsOn) || c.dependsOn.all(d, d in ${names})).map(c, c.name)`
const acyclicInCel = (round: number): string =>
  round === COMPONENTS_MAX
    ? `r${round}.size() == self.components.size()`
    : `[${readyInCel(`r${round}`)}].all(r${round + 1}, ${acyclicInCel(round + 1)})`

/** Sorts components after their dependencies; the result is shorter than the list if there is a cycle. */
export function sortByDependencies(components: readonly ComponentSpec[]): ComponentSpec[] {
  const ordered: ComponentSpec[] = []
  const names = new Set<string>()
  for (let round = 0; round < components.length; round += 1) {
    const ready = components.filter(
      ({ name, dependsOn }) => !names.has(name) && dependsOn.every((one) => names.has(one)),
    )
    for (const component of ready) {
      ordered.push(component)
      names.add(component.name)
    }
  }
  return ordered
}

const componentRules: readonly Rule<ContainersInput>[] = [
  eachComponent(
    {
      cel: '!has(c.dependsOn) || c.dependsOn.all(d, self.components.exists(o, o.name == d))',
      message: 'dependsOn must name other components of the resource',
    },
    ({ dependsOn }, { components }) => dependsOn.every((one) => components.some(({ name }) => name === one)),
  ),
  refuse(
    {
      cel: `self.components.exists(c, has(c.dependsOn) && c.dependsOn.exists(d, !self.components.exists(o, o.name == d))) || [['']].all(r0, ${acyclicInCel(0)})`,
      message: 'dependsOn must not lead from a component back to itself',
    },
    ({ components }) => {
      const names = components.map(({ name }) => name)
      const isKnown = components.every(({ dependsOn }) => dependsOn.every((one) => names.includes(one)))
      return !isKnown || sortByDependencies(components).length === components.length
    },
  ),
  eachComponent(
    {
      cel: "!has(c.ports) || c.ports.all(a, c.ports.exists_one(b, a.port == b.port && (has(a.protocol) ? a.protocol : 'Tcp') == (has(b.protocol) ? b.protocol : 'Tcp')))",
      message: 'no two ports of a component may have the same number and protocol',
    },
    ({ ports }) => isUnique(ports.map(({ port, protocol }) => `${port}/${protocol}`)),
  ),
  ...PROBES.map((probe) =>
    eachComponent(
      {
        cel: `!has(c.${probe}) || (c.${probe}.kind == 'Exec' ? has(c.${probe}.command) && c.${probe}.command.size() > 0 : has(c.${probe}.port) || (has(c.ports) && c.ports.exists(p, !has(p.protocol) || p.protocol == 'Tcp')))`,
        message: `${probe} needs a command if its kind is Exec, and otherwise a port, unless its component has a Tcp port`,
      },
      ({ [probe]: settings, ports }) =>
        settings === undefined ||
        (settings.kind === 'Exec'
          ? settings.command.length > 0
          : settings.port !== undefined || ports.some(({ protocol }) => protocol === 'Tcp')),
    ),
  ),
  noGreater('cpuRequest', 'cpuLimit'),
  noGreater('memoryRequest', 'memoryLimit'),
  eachComponent(
    {
      cel: '!has(c.runAsUser) || c.runAsUser > 0',
      message: 'runAsUser must not be 0: containers never run as root',
      code: 'RULE_VIOLATION',
    },
    ({ runAsUser }) => runAsUser !== 0,
  ),
  eachComponent(
    {
      cel: '!has(c.mounts) || c.mounts.all(m, self.volumes.exists(v, v.name == m.volume))',
      message: 'mounts must name volumes of the resource',
    },
    ({ mounts }, { volumes }) => mounts.every(({ volume }) => volumes.some(({ name }) => name === volume)),
  ),
]

const eachPreviousVolume = (rule: RuleText, test: (before: VolumeSpec, now: VolumeSpec | undefined) => boolean) =>
  refuse({ field: 'volumes', ...rule }, ({ volumes }, previous) =>
    previous.volumes.every((before) =>
      test(
        before,
        volumes.find(({ name }) => name === before.name),
      ),
    ),
  )

export const volumeRules: readonly Rule<ContainersInput>[] = [
  refuse(
    {
      cel: "self.volumes.all(v, (v.kind == 'Persistent' ? has(v.size) : !has(v.storageClass)) && (v.kind == 'Secret') == has(v.secret) && (v.kind != 'Secret' || !has(v.size)))",
      message:
        'a Persistent volume must have a size, a Secret volume a secret and nothing else, and only Persistent ones may have a storageClass',
      field: 'volumes',
    },
    ({ volumes }) =>
      volumes.every(
        ({ kind, size, storageClass, secret }) =>
          (kind === 'Persistent' ? size !== undefined : storageClass === undefined) &&
          (kind === 'Secret') === (secret !== undefined) &&
          (kind !== 'Secret' || size === undefined),
      ),
  ),
  eachPreviousVolume(
    {
      cel: "oldSelf.volumes.all(o, o.kind != 'Persistent' || self.volumes.exists(v, v.name == o.name && v.kind == 'Persistent'))",
      message: 'a Persistent volume cannot be removed before the resource is deleted: its data would be lost',
    },
    ({ kind }, now) => kind !== 'Persistent' || now?.kind === 'Persistent',
  ),
  eachPreviousVolume(
    {
      cel: "oldSelf.volumes.all(o, o.kind != 'Persistent' || self.volumes.all(v, v.name != o.name || v.kind != 'Persistent' || (has(v.storageClass) == has(o.storageClass) && (!has(o.storageClass) || v.storageClass == o.storageClass))))",
      message: 'storageClass of a volume cannot be changed after creation',
    },
    ({ kind, storageClass }, now) =>
      kind !== 'Persistent' || now?.kind !== 'Persistent' || now.storageClass === storageClass,
  ),
  eachPreviousVolume(
    {
      cel: "oldSelf.volumes.all(o, o.kind != 'Persistent' || !has(o.size) || self.volumes.all(v, v.name != o.name || v.kind != 'Persistent' || !has(v.size) || quantity(v.size).compareTo(quantity(o.size)) >= 0))",
      message: 'size of a volume may grow but not shrink: volumes cannot give space back',
      code: 'STORAGE_CANNOT_SHRINK',
    },
    (before, now) =>
      before.kind !== 'Persistent' ||
      now?.kind !== 'Persistent' ||
      now.size === undefined ||
      before.size === undefined ||
      compareQuantities(now.size, before.size) >= 0,
  ),
]

export const containerRules: readonly Rule<ContainersInput>[] = [
  ...componentRules,
  ...variableRules('self.components'),
  ...volumeRules,
]

type PublicContainers = Containers & {
  isPublic: boolean
  publicComponent?: string | undefined
  publicPort?: number | undefined
}

/** Returns the component and port that a public host leads to; undefined if none fits. */
export function publicTarget({
  components,
  publicComponent,
  publicPort,
}: Omit<PublicContainers, 'volumes' | 'isPublic'>):
  | { component: ComponentSpec; port: ComponentSpec['ports'][number] }
  | undefined {
  for (const component of components) {
    if (publicComponent !== undefined && component.name !== publicComponent) continue
    const port = component.ports.find(
      (one) => one.protocol === 'Tcp' && (publicPort === undefined || one.port === publicPort),
    )
    if (port !== undefined) return { component, port }
  }
  return undefined
}

export const publicRule: Rule<ContainersInput & Omit<PublicContainers, keyof Containers>> = {
  cel: "!self.isPublic || self.components.exists(c, (!has(self.publicComponent) || c.name == self.publicComponent) && has(c.ports) && c.ports.exists(p, (!has(p.protocol) || p.protocol == 'Tcp') && (!has(self.publicPort) || p.port == self.publicPort)))",
  message: 'isPublic needs a component with a Tcp port; publicComponent and publicPort must name an existing one',
  field: 'isPublic',
  test: (next) => !next.isPublic || publicTarget(completeContainers(next)) !== undefined,
}

/** Checked even if nothing is public: otherwise a wrong name would be found only when the resource becomes public. */
export const publicComponentRule: Rule<ContainersInput & Pick<PublicContainers, 'publicComponent'>> = {
  cel: '!has(self.publicComponent) || self.components.exists(c, c.name == self.publicComponent)',
  message: 'publicComponent must name one of the components',
  field: 'publicComponent',
  test: ({ publicComponent, components }) =>
    publicComponent === undefined || components.some(({ name }) => name === publicComponent),
}

export const identityRule: Rule<ContainersInput & { managedIdentity: boolean }> = {
  cel: `!self.managedIdentity || self.components.all(c, !has(c.mounts) || c.mounts.all(m, m.path != '${IDENTITY_PATH}'))`,
  message: `no volume may be mounted at ${IDENTITY_PATH}, where the credentials of the managed identity are`,
  field: 'components',
  test: ({ managedIdentity, components }) =>
    !managedIdentity || components.every(({ mounts = [] }) => mounts.every(({ path }) => path !== IDENTITY_PATH)),
}

type BackedUpContainers = ContainersInput & { backupPolicy?: z.output<typeof BackupPolicyInSpec> | undefined }
const persistent = ({ volumes }: ContainersInput) =>
  volumes.flatMap(({ name, kind }) => (kind === 'Persistent' ? [name] : []))

export const backupRules: readonly Rule<BackedUpContainers>[] = [
  {
    cel: "!has(self.backupPolicy) || (self.volumes.exists(v, v.kind == 'Persistent') && (!has(self.backupPolicy.volumes) || self.backupPolicy.volumes.size() > 0))",
    message: 'backupPolicy needs a Persistent volume to back up',
    code: 'NOTHING_TO_BACK_UP',
    field: 'backupPolicy',
    test: ({ backupPolicy, ...spec }) =>
      backupPolicy === undefined || (persistent(spec).length > 0 && backupPolicy.volumes?.length !== 0),
  },
  {
    cel: "!has(self.backupPolicy) || !has(self.backupPolicy.volumes) || self.backupPolicy.volumes.all(n, self.volumes.exists(v, v.name == n && v.kind == 'Persistent'))",
    message: 'volumes of backupPolicy must name Persistent volumes of the resource',
    field: 'backupPolicy',
    test: ({ backupPolicy, ...spec }) => (backupPolicy?.volumes ?? []).every((name) => persistent(spec).includes(name)),
  },
  {
    cel: '!has(self.backupPolicy) || self.backupPolicy.hooks.all(h, self.components.exists(c, c.name == h.component))',
    message: 'hooks of backupPolicy must name components of the resource',
    field: 'backupPolicy',
    test: ({ backupPolicy, components }) =>
      (backupPolicy?.hooks ?? []).every((hook) => components.some(({ name }) => name === hook.component)),
  },
]
