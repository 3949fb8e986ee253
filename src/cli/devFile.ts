import { dirname, resolve } from 'node:path'
import { load } from 'js-yaml'
import { z } from 'zod'
import { NetworkError } from '../client/index.ts'
import { tryParseJson } from '../core/tryParseJson.ts'
import { localFailure } from './failure.ts'
import { readFileIfPresent } from './files.ts'
import { fetchOf, requireSafeUrl } from './settings.ts'

export const DEV_FILE = '.freehold/dev.json'

const DevFile = z.object({
  facadeUrl: z.url(),
  tokenUrl: z.url(),
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
  certificateAuthority: z.string().optional(),
  kubeconfig: z.string().optional(),
  settings: z.record(z.string(), z.string()).default({}),
})
export type DevFile = z.output<typeof DevFile>

/** Reads the file that `npm run up` writes. @throws CommandFailure (local) if it is missing or invalid */
export async function readDevFile(path: string): Promise<DevFile> {
  const text = await readFileIfPresent(path)
  if (text === undefined) throw localFailure(`There is no ${path}: start the platform with \`npm run up\`.`)
  const parsed = DevFile.safeParse(tryParseJson(text))
  if (!parsed.success) throw localFailure(`${path} is not the dev.json of \`npm run up\`.`)
  return parsed.data
}

/** Discovers the issuer, which is https, through the token URL in `dev.json`, which is plain http on this machine. */
export async function discoverIssuer(tokenUrl: string, certificateAuthority: string | undefined): Promise<string> {
  const realmUrl = requireSafeUrl('tokenUrl', tokenUrl).replace(/\/protocol\/openid-connect\/token$/, '')
  const url = `${realmUrl}/.well-known/openid-configuration`
  const authority = certificateAuthority === undefined ? {} : { certificateAuthority: resolve(certificateAuthority) }
  const fetch = await fetchOf(authority)
  const answer = await fetch(url, { redirect: 'error' }).catch((error) => {
    throw new NetworkError(url, error)
  })
  const { issuer } = (await answer.json().catch(() => ({}))) as { issuer?: unknown }
  return typeof issuer === 'string' ? issuer : realmUrl
}

const Kubeconfig = z.object({
  clusters: z.array(
    z.object({
      cluster: z.object({
        server: z.url(),
        'certificate-authority-data': z.base64().optional(),
        'certificate-authority': z.string().optional(),
      }),
    }),
  ),
})

export type KubernetesServer = { server: string; certificateAuthorityData?: string | undefined }

/** Returns the server of the first cluster, without credentials; undefined if the file is not a kubeconfig. */
export async function serverOfKubeconfig(path: string): Promise<KubernetesServer | undefined> {
  const text = await readFileIfPresent(path)
  const parsed = Kubeconfig.safeParse(text === undefined ? undefined : yaml(text))
  const cluster = parsed.data?.clusters[0]?.cluster
  if (cluster === undefined) return undefined
  const { server, 'certificate-authority-data': data, 'certificate-authority': file } = cluster
  const pem = file === undefined ? undefined : await readFileIfPresent(resolve(dirname(path), file))
  const authority = data ?? (pem === undefined ? undefined : Buffer.from(pem).toString('base64'))
  return { server, ...(authority !== undefined && { certificateAuthorityData: authority }) }
}

function yaml(text: string): unknown {
  try {
    return load(text)
  } catch {
    return undefined
  }
}
