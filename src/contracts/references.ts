import type { ActionName } from '../core/actions.ts'

/** Values of a group that its code may be given: values of vaults, and outputs of other resources. */

/** A value in a vault of the same group; the newest version if none is named. */
export type VaultReference = { vaultName: string; secretName: string; version?: number | undefined }

/** Outputs of one collection (records: values). */
type Outputs = {
  readonly action: string
  readonly plain: readonly string[]
  readonly secret: readonly string[]
  /** The action that secret outputs require; `readSecrets` of the kind if absent. */
  readonly secretAction?: string
  /** The same as a virtual verb on the resource; `readsecrets` if absent. */
  readonly verb?: string
  /** The outputs contain addresses that only mean something in the cluster of the resource. */
  readonly isLocal?: true
}

export const OUTPUTS = {
  vectorclusters: {
    action: 'vectorcluster',
    plain: ['restEndpoint', 'grpcEndpoint'],
    secret: ['apiKey'],
    isLocal: true,
  },
  relationalclusters: {
    action: 'relationalcluster',
    plain: ['host', 'port', 'database', 'username'],
    secret: ['connectionString', 'jdbcUrl', 'password'],
    isLocal: true,
  },
  sqlclusters: {
    action: 'sqlcluster',
    plain: ['host', 'port', 'database', 'username'],
    secret: ['connectionString', 'jdbcUrl', 'password'],
    isLocal: true,
  },
  containerinstances: { action: 'containerinstance', plain: ['publicUrl'], secret: [] },
  apps: { action: 'apps', plain: ['publicUrl'], secret: [] },
  staticwebapps: { action: 'staticwebapp', plain: ['publicUrl'], secret: [] },
  functionnamespaces: { action: 'functions', plain: ['publicUrl'], secret: [] },
  objectstorageaccounts: {
    action: 'objectstorageaccounts',
    plain: ['endpoint', 'regionName'],
    secret: ['accessKeyId', 'secretAccessKey'],
    // The consumer gets a key of its own, so a reference creates one.
    secretAction: 'objectaccesskeys/write',
    verb: 'createkeys',
  },
} as const satisfies Readonly<Record<string, Outputs>>
export type OutputCollection = keyof typeof OUTPUTS
export const OUTPUT_COLLECTIONS = Object.keys(OUTPUTS) as [OutputCollection, ...OutputCollection[]]

export type ResourceOutput = { collection: OutputCollection; name: string; output: string }

export function outputsOf(collection: OutputCollection): readonly string[] {
  const { plain, secret } = OUTPUTS[collection]
  return [...plain, ...secret]
}

/** Whether the outputs are only useful in the cluster of the resource. */
export function isLocalOutput(collection: OutputCollection): boolean {
  const { isLocal }: Outputs = OUTPUTS[collection]
  return isLocal === true
}

/** Whether an output is secret. */
export function isSecretOutput({ collection, output }: ResourceOutput): boolean {
  return (OUTPUTS[collection].secret as readonly string[]).includes(output)
}

/** Returns the action that the author of a reference needs on the resource. */
export function actionOfOutput(reference: ResourceOutput): ActionName {
  const { action, secretAction }: Outputs = OUTPUTS[reference.collection]
  const name = isSecretOutput(reference) ? (secretAction ?? `${action}/readSecrets`) : `${action}/read`
  return name as ActionName
}

/** Returns the same as a Kubernetes verb. */
export function verbOfOutput(collection: OutputCollection, isSecret: boolean): string {
  const { verb = 'readsecrets' }: Outputs = OUTPUTS[collection]
  return isSecret ? verb : 'get'
}

/** A variable of a process: a plain value, or a reference to one. */
export type EnvironmentVariable = {
  name: string
  value?: string | undefined
  secret?: VaultReference | undefined
  output?: ResourceOutput | undefined
}

/** A right that a reference requires, on a resource of the same group. */
export type ReferencedRight =
  | { readonly action: ActionName; readonly collection: string; readonly name: string }
  /** On the group itself. */
  | { readonly action: ActionName }

/** Fields of a spec that refer to values. */
export type ValueReferences = {
  components?: readonly { env?: readonly Partial<Pick<EnvironmentVariable, 'secret' | 'output'>>[] | undefined }[]
  managedIdentity?: boolean | undefined
  volumes?: readonly { secret?: Pick<VaultReference, 'vaultName'> | undefined }[]
}

/** Returns the rights to read vaults, which a reference to their values requires. */
export function vaultRights(vaults: Iterable<string>): ReferencedRight[] {
  return [...new Set(vaults)].map((name) => ({ action: 'secretvault/readSecrets', collection: 'secretvaults', name }))
}

/** Returns the rights needed to see everything that containers are given from vaults and from other resources. */
export function referencedRights({
  components = [],
  volumes = [],
  managedIdentity = false,
}: ValueReferences): ReferencedRight[] {
  const variables = components.flatMap(({ env = [] }) => env)
  const vaults = [...variables, ...volumes].flatMap(({ secret }) => secret?.vaultName ?? [])
  const ofOutputs = variables.flatMap(({ output }) => {
    if (output === undefined) return []
    const { collection, name } = output
    return [{ action: actionOfOutput(output), collection, name }]
  })
  const ofIdentity = managedIdentity ? [{ action: 'managedidentities/readSecrets' as const }] : []
  return [...vaultRights(vaults), ...ofOutputs, ...ofIdentity]
}
