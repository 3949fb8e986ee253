import { containerNamesOf } from '../../contracts/containerinstances.ts'
import { pullSecretContent } from '../../contracts/dockerConfig.ts'
import type { VaultReference } from '../../contracts/references.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'
import { instanceShared } from '../../desired/containers/index.ts'
import { secret as secretChild } from '../../desired/workload/child.ts'
import type { LiveDeployment } from '../../desired/workload/podProblems.ts'
import { deployment, secret } from '../../kube/builtin.ts'
import { mayReadVault, vaultValue } from '../vaults/open.ts'
import { outputValue } from '../workload/outputs.ts'
import { refOfPass } from '../workload/pass.ts'
import { withSecretRights } from '../workload/secrets.ts'
import { keepVersionedSecret, mayRead } from '../workload/values.ts'
import { componentStatuses, formerComponents, podsOf } from './health.ts'
import type { ContainerOptions, InstancePass, InstanceStep } from './types.ts'

/** Writes referenced values to Secrets that pods mount. A changed Secret restarts the components that use it. */
export function keepValues({ keys }: ContainerOptions): InstanceStep {
  return function keepValues(pass: InstancePass): Promise<Outcome> {
    return withSecretRights(async () => {
      const { components, volumes, registryCredential } = pass.object.spec
      const names = containerNamesOf(pass.object)
      const readVault = (reference: VaultReference) => vaultValue(pass, reference, keys)
      const wanted = new Map<string, [key: string, value: () => Promise<string | Outcome>][]>()
      for (const { name, env } of components) {
        wanted.set(
          names.values(name),
          env.flatMap(({ name: variable, secret: reference, output }) => {
            if (reference !== undefined) return [[variable, () => readVault(reference)]]
            return output === undefined ? [] : [[variable, () => outputValue(pass, output)]]
          }),
        )
      }
      wanted.set(
        names.files,
        volumes.flatMap(({ name, secret: reference }) =>
          reference === undefined ? [] : [[name, () => readVault(reference)]],
        ),
      )
      for (const [name, entries] of wanted) {
        const data = await resolveEntries(entries)
        if ('kind' in data) return data
        await storeValues(pass, name, data.values)
      }
      await removeFormerSecrets(pass)
      return keepPullSecret(pass, registryCredential && (await readVault(registryCredential)))
    })
  }
}

/** Deletes the Secrets of removed components, whose pods are being deleted as well. */
async function removeFormerSecrets(pass: InstancePass): Promise<void> {
  const former = formerComponents(pass)
  if (former.length === 0) return
  const { values } = containerNamesOf(pass.object)
  for (const { name } of former) await pass.children.remove(secret, refOfPass(pass).namespace, values(name))
  pass.report({ components: componentStatuses(podsOf(pass), pass.object.spec.components) })
}

type Entries = readonly [key: string, value: () => Promise<string | Outcome>][]

async function resolveEntries(entries: Entries): Promise<{ values: SecretData } | Outcome> {
  const values: Record<string, string> = {}
  for (const [key, read] of entries) {
    const value = await read()
    if (typeof value !== 'string') return value
    values[key] = value
  }
  return { values: secretData(values) }
}

const MAX_SECRET_BYTES = 900 * 1024

async function storeValues(pass: InstancePass, name: string, data: SecretData): Promise<void> {
  const stillRead = async () => {
    const deployments = await deploymentsOf(pass)
    return (key: string) => deployments.some((one) => mayRead(one, name, key))
  }
  const { version } = await keepVersionedSecret(pass, instanceShared(pass.object), name, { data, stillRead })
  if (version !== undefined) pass.state.versions.set(name, version)
}

/** Returns the Deployments of current components and of those removed from the spec. */
function deploymentsOf(pass: InstancePass): Promise<(LiveDeployment | undefined)[]> {
  const { namespace } = refOfPass(pass)
  const { spec, status } = pass.object
  const names = new Set([...spec.components, ...(status?.components ?? [])].map(({ name }) => name))
  const nameOf = containerNamesOf(pass.object).component
  return Promise.all([...names].map((name) => pass.children.get<LiveDeployment>(deployment, namespace, nameOf(name))))
}

/**
 * Deletes the pull Secret if it is no longer wanted, or if its vault secret is disabled, deleted or expired. Runs
 * before any step that can stop the pass, because it grants access to a registry.
 */
export async function withdrawPullSecret(pass: InstancePass): Promise<Outcome> {
  const { registryCredential } = pass.object.spec
  if (registryCredential !== undefined && mayReadVault(pass, registryCredential)) return done()
  return withSecretRights(async () => {
    await pass.children.remove(secret, refOfPass(pass).namespace, containerNamesOf(pass.object).pull)
    return done()
  })
}

/** Keeps the pull Secret. Changing it does not restart pods. */
async function keepPullSecret(pass: InstancePass, value: string | Outcome | undefined): Promise<Outcome> {
  const { pull } = containerNamesOf(pass.object)
  if (value === undefined) return done()
  if (typeof value !== 'string') return value
  if (!isDockerConfig(value) || value.length > MAX_SECRET_BYTES) {
    return stalled(
      'ConfigurationInvalid',
      'The vault secret of registryCredential is not a dockerconfigjson with "auths".',
    )
  }
  const { data, type } = pullSecretContent(value)
  const desired = secretChild(instanceShared(pass.object), pull, data, { type })
  await pass.children.ensure(desired, { resource: secret })
  pass.state.pullSecret = pull
  return done()
}

function isDockerConfig(text: string): boolean {
  const read = tryParseJson(text)
  return typeof read === 'object' && read !== null && typeof (read as { auths?: unknown }).auths === 'object'
}
