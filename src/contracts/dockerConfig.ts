import { secretData } from '../core/secretData.ts'

/** Accounts that pull, by registry or by registry and repository. */
export type DockerAccounts = Readonly<Record<string, { readonly username: string; readonly password: string }>>

/** Returns the configuration of a docker client (`~/.docker/config.json`). */
export function dockerConfig(accounts: DockerAccounts): string {
  const auths = Object.entries(accounts).map(([place, { username, password }]) => {
    const auth = Buffer.from(`${username}:${password}`).toString('base64')
    return [place, { username, password, auth }]
  })
  return JSON.stringify({ auths: Object.fromEntries(auths) })
}

/** The entry of a Secret that kubelets read. */
export const DOCKER_CONFIG_KEY = '.dockerconfigjson'

/** Returns type and data of a Secret that kubelets pull with. */
export function pullSecretContent(config: string) {
  return {
    type: 'kubernetes.io/dockerconfigjson',
    data: secretData({ [DOCKER_CONFIG_KEY]: config }),
  }
}
