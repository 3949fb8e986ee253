import { withParameters } from '../contracts/containerinstances.ts'
import type { ComponentSpec } from './containerFields.ts'
import type { SpecOfContainerInstance } from './containerinstances.ts'

/** The fields that a revision of a container instance records and a rollback restores. */
export const CONTENT_FIELDS = [
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
export type InstanceContent = Pick<SpecOfContainerInstance, (typeof CONTENT_FIELDS)[number]>

export function contentOf(spec: SpecOfContainerInstance): InstanceContent {
  const present = CONTENT_FIELDS.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]))
  return Object.fromEntries(present) as InstanceContent
}

/** Returns, by component, the content whose change recreates the copies. Their number is not part of it. */
export function partsOf({
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
  const filled = (text: string) => withParameters(text, parameters)
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
