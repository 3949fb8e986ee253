import type { Response, Test } from 'supertest'
import type { startFacade } from '../worlds/facadeServer.ts'

type Server = Awaited<ReturnType<typeof startFacade>>
type Ask = (app: Server['app'], index: number) => Test

const ASKERS = 6

/** Sends requests to two facades over one API server at the same time, six times in all. */
export async function askAtOnce(server: Server, ask: Ask): Promise<Response[]> {
  const apps = [server.app, await server.another()] as const
  const asked = Array.from({ length: ASKERS }, (_, index) => ask(apps[index % 2 === 0 ? 0 : 1], index))
  return Promise.all(asked.map(async (each) => each))
}

/** Sends as many requests, one after the other. */
export async function askInTurn(server: Server, ask: Ask): Promise<Response[]> {
  const answers: Response[] = []
  for (let index = 0; index < ASKERS; index += 1) answers.push(await ask(server.app, index))
  return answers
}

/** Statuses and codes without their order. */
export function outcomes(answers: readonly Response[]): string[] {
  return answers.map(({ status, body }) => (status < 300 ? `${status}` : `${status} ${body.code}`)).sort()
}
