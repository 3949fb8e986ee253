import type { ActionName } from '../../core/actions.ts'
import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { dataAction, type RouteDraft, route } from '../http/route.ts'
import { type ConnectionString, ConnectionStringDto } from './databaseAccess.ts'

/** Returns the two routes that tell clients how to connect to a database. */
export function connectionRoutes({
  base,
  may,
  read,
}: {
  base: string
  may: ActionName
  read: (context: Context, from: 'inside' | 'outside') => Promise<Answer<ConnectionString>>
}): readonly RouteDraft[] {
  const connection = (path: string, summary: string, from: 'inside' | 'outside') =>
    route('GET', path, {
      auth: dataAction(may),
      summary,
      reply: ConnectionStringDto,
      handler: (context) => read(context, from),
    })
  return [
    connection(`${base}/connectionstring`, 'How to connect from inside the cluster', 'inside'),
    connection(`${base}/connectionstring/external`, 'How to connect through the load balancer', 'outside'),
  ]
}
