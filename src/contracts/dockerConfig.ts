import { secretData } from '../core/secretData.ts'

/** Who pulls, by registry or by registry and repository. */
export type DockerAccounts = Readonly<Record<string, { readonly username: string; readonly password: string }>>

/** What a docker client is configured with (`~/.docker/config.json`). */
export function dockerConfig(accounts: DockerAccounts): string {
  const auths = Object.entries(accounts).map(([place, { username, password }]) => {
    const auth = Buffer.from(`${username}:${password}`).toString('base64')
    return [place, { username, password, auth }]
  })
  return JSON.stringify({ auths: Object.fromEntries(auths) })
}

/** The entry that kubelets read. */
export const CONFIG_ENTRY = '.dockerconfigjson'

/** The Secret that kubelets pull with, as far as its content goes. */
export function pullSecretContent(config: string) {
  return {
    type: 'kubernetes.io/dockerconfigjson',
    data: secretData({ [CONFIG_ENTRY]: config }),
  }
}
