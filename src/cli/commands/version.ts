import { z } from 'zod'
import { VERSION } from '../../core/release.ts'
import type { Command } from '../command.ts'
import { OUTPUT, show } from '../session.ts'
import { fetchOf, findSettings } from '../settings.ts'

/** The fields of `GET /version` to show. The route needs no token. */
const PlatformVersion = z.object({
  version: z.string(),
  commit: z.string(),
  kubernetesVersion: z.string().nullish(),
  simulated: z.array(z.string()).default([]),
})

export const version: Command = {
  name: 'version',
  summary: 'Show the version of this client, and of the platform that it is set up for',
  options: [OUTPUT],
  details: 'Without `freehold setup`, or if the platform does not answer, `platform` is null.',
  async run(input, context) {
    const settings = await findSettings(context.paths.settings)
    const platform = settings === undefined ? null : await versionOf(settings, context.signal)
    show({ client: VERSION, platform }, input, context)
  },
}

async function versionOf(settings: Parameters<typeof fetchOf>[0] & { facadeUrl: string }, signal: AbortSignal) {
  const { facadeUrl: url } = settings
  try {
    const send = await fetchOf(settings)
    const requestSignal = AbortSignal.any([signal, AbortSignal.timeout(10_000)])
    const answer = await send(new URL('/version', url).href, { signal: requestSignal })
    return { url, ...PlatformVersion.parse(await answer.json()) }
  } catch (error) {
    if (signal.aborted) throw error
    return null
  }
}
