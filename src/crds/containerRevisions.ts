import { substituteParameters } from '../contracts/containerinstances.ts'
import type { ComponentSpec } from './containerFields.ts'
import type { SpecOfContainerInstance } from './containerinstances.ts'

/** The fields that a revision of a container instance records and a rollback restores. */
export const REVISION_FIELDS = [
  'computePlan',
  'components',
  'volumes',
  'parameters',
  'registryCredential',
  'managedIdentity',
  'isPublic',
  'publicComponent',
  'publicPort',
  'customDomains',
] as const satisfies readonly (keyof SpecOfContainerInstance)[]
export type InstanceContent = Pick<SpecOfContainerInstance, (typeof REVISION_FIELDS)[number]>

export function revisionContentOf(spec: SpecOfContainerInstance): InstanceContent {
  const present = REVISION_FIELDS.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]))
  return Object.fromEntries(present) as InstanceContent
}

/** Returns, by component, the content whose change recreates the copies. Their number is not part of it. */
export function podContentByComponent({
  components,
  volumes,
  parameters,
  managedIdentity,
}: InstanceContent): Record<string, unknown> {
  // Absent if false, so that parts from before identities existed stay equal.
  const identity = managedIdentity ? { managedIdentity } : {}
  return Object.fromEntries(
    components.map((component) => [component.name, { ...partOf(component, { volumes, parameters }), ...identity }]),
  )
}

function partOf(
  { replicas: _replicas, dependsOn: _depends, ...component }: ComponentSpec,
  { volumes, parameters }: Pick<InstanceContent, 'volumes' | 'parameters'>,
): object {
  const filled = (text: string) => substituteParameters(text, parameters)
  const { command, args, env, mounts } = component
  return {
    ...component,
    command: command.map(filled),
    args: args.map(filled),
    env: env.map(({ value, ...rest }) => (value === undefined ? rest : { ...rest, value: filled(value) })),
    volumes: volumes
      .filter(({ name }) => mounts.some(({ volume }) => volume === name))
      .map(({ size: _, ...volume }) => volume),
  }
}
