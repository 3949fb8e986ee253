import {
  DOCKER_CONFIG_KEY,
  type DockerAccounts,
  dockerConfig,
  pullSecretContent,
} from '../../contracts/dockerConfig.ts'
import { PlatformError } from '../../core/errors.ts'
import { isRecord } from '../../core/isRecord.ts'
import { MANAGED_BY, MANAGED_BY_LABEL, PREFIX } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { type SecretObject, secretText } from '../../core/secretData.ts'
import { tryParseJsonObject } from '../../core/tryParseJson.ts'
import { secret } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'

/** Marks a pull secret with its source. Secrets without this label are never overwritten. */
const SOURCE_LABEL = `${PREFIX}source`

type PullSecret = {
  namespace: string
  name: string
  sourceId: string
  accounts: DockerAccounts
  /** A resource with which the secret is garbage-collected; if absent, it stays until somebody deletes it. */
  owner?: { apiVersion: string; kind: string; name: string; uid: string } | undefined
}

export function kubePullSecrets(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>) {
  return {
    /** @throws PlatformError already-exists if a Secret of that name is something else */
    async write(given: PullSecret): Promise<void> {
      const { namespace, name, sourceId, accounts, owner } = given
      const content = pullSecretContent(dockerConfig(accounts))
      const labels = { [MANAGED_BY_LABEL]: MANAGED_BY, [SOURCE_LABEL]: sourceId }
      const metadata = { namespace, name, labels, ...(owner !== undefined && { ownerReferences: [owner] }) }
      const object = { apiVersion: 'v1', kind: 'Secret', metadata, ...content }
      try {
        await client.create(secret, object as KubeObject)
      } catch (error) {
        if (!isKubeError(error, 'AlreadyExists')) throw error
        const found = await client.get<SecretObject>(secret, { namespace, name })
        if (found.metadata.labels?.[SOURCE_LABEL] !== sourceId) {
          const message = `This group has another Secret "${name}", which does not come from this source.`
          throw new PlatformError('already-exists', message, { secretName: name })
        }
        const { uid, resourceVersion } = found.metadata
        await client.mergePatch(secret, { namespace, name }, ownerPatch(found, given), { uid, resourceVersion })
      }
    },
  }
}

/** Returns a patch that adds an owner: the secret is deleted with its last one, and serves all of them. */
function ownerPatch({ metadata, data }: SecretObject, { accounts, owner }: PullSecret) {
  const owners = metadata.ownerReferences ?? []
  const others = owners.filter(({ uid }) => uid !== owner?.uid)
  const isForGroup = owner === undefined || owners.length === 0
  const isOnlyOwner = owner === undefined ? owners.length === 0 : owners.length > 0 && others.length === 0
  const merged = isOnlyOwner ? accounts : { ...accountsOf(data, accounts), ...accounts }
  const ownerReferences = isForGroup ? [] : [...others, owner]
  return { metadata: { ownerReferences }, data: pullSecretContent(dockerConfig(merged)).data }
}

/** Returns the accounts at the same registry with the current password; those of other registries are dropped. */
function accountsOf(data: SecretObject['data'], accounts: DockerAccounts): DockerAccounts {
  const { auths } = tryParseJsonObject(secretText(data, DOCKER_CONFIG_KEY) ?? '') ?? {}
  const [[first = '', account] = []] = Object.entries(accounts)
  const hostOf = (repository: string) => repository.split('/')[0]
  const repositories = Object.keys(isRecord(auths) ? auths : {}).filter(
    (repository) => hostOf(repository) === hostOf(first),
  )
  return account === undefined ? {} : Object.fromEntries(repositories.map((repository) => [repository, account]))
}
