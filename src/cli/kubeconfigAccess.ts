import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { load } from 'js-yaml'
import { z } from 'zod'
import { localTrouble } from './failure.ts'
import type { KubernetesAccess } from './kubernetes.ts'

const Named = <Schema extends z.ZodType, Key extends string>(key: Key, schema: Schema) =>
  z.array(z.object({ name: z.string(), [key]: schema } as { name: z.ZodString } & Record<Key, Schema>)).default([])

const Kubeconfig = z.object({
  'current-context': z.string().min(1),
  contexts: Named('context', z.object({ cluster: z.string(), user: z.string() })),
  clusters: Named(
    'cluster',
    z.object({
      server: z.url(),
      'certificate-authority-data': z.base64().optional(),
      'certificate-authority': z.string().optional(),
    }),
  ),
  users: Named(
    'user',
    z.object({
      token: z.string().optional(),
      tokenFile: z.string().optional(),
      'client-certificate-data': z.base64().optional(),
      'client-certificate': z.string().optional(),
      'client-key-data': z.base64().optional(),
      'client-key': z.string().optional(),
    }),
  ),
})

/**
 * The API server of a kubeconfig's current context, as the user whom it names: by certificate or by token.
 *
 * @throws CommandFailure (local) for a file that is no kubeconfig, or whose user signs in by a plugin
 */
export async function accessOfKubeconfig(path: string): Promise<Omit<KubernetesAccess, 'signal'>> {
  const parsed = Kubeconfig.safeParse(await yamlIn(path))
  if (!parsed.success) throw localTrouble(`${path} is not a kubeconfig with a current context.`)
  const { 'current-context': wanted, contexts, clusters, users } = parsed.data
  const context = contexts.find(({ name }) => name === wanted)?.context
  const cluster = clusters.find(({ name }) => name === context?.cluster)?.cluster
  const user = users.find(({ name }) => name === context?.user)?.user
  if (cluster === undefined || user === undefined) {
    throw localTrouble(`${path} lacks the cluster or the user of its context "${wanted}".`)
  }
  const beside = async (data: string | undefined, file: string | undefined) =>
    data ?? (file === undefined ? undefined : (await bytesOf(resolve(dirname(path), file))).toString('base64'))
  const certificate = await beside(user['client-certificate-data'], user['client-certificate'])
  const key = await beside(user['client-key-data'], user['client-key'])
  const token =
    user.token ?? (user.tokenFile && (await bytesOf(resolve(dirname(path), user.tokenFile))).toString().trim())
  if (token === undefined && (certificate === undefined || key === undefined)) {
    const what = `The user of ${path} signs in neither by certificate nor by token`
    throw localTrouble(`${what}: use \`kubectl apply\` with it.`)
  }
  const authority = await beside(cluster['certificate-authority-data'], cluster['certificate-authority'])
  return {
    kubernetes: { server: cluster.server, ...(authority !== undefined && { certificateAuthorityData: authority }) },
    ...(token !== undefined && { token: () => Promise.resolve(token) }),
    ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
  }
}

async function yamlIn(path: string): Promise<unknown> {
  const text = (await bytesOf(path)).toString()
  try {
    return load(text)
  } catch {
    return undefined
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw localTrouble(`${path} cannot be read.`, error)
  }
}
