import { expect } from 'chai'
import { successfulRoutes } from './coverage.ts'

const line = (method: string, route: string, status: number) =>
  `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"} 3`

describe('the routes that tests have seen succeed', () => {
  it('are those with an answer below 400', () => {
    const metrics = [
      line('GET', '/version', 200),
      line('POST', '/boundaries', 403),
      line('DELETE', '/boundaries/{boundaryId}', 202),
    ]
    expect([...successfulRoutes(metrics.join('\n'))]).to.deep.equal(['GET /version', 'DELETE /boundaries/{boundaryId}'])
  })

  it('are read from no other series', () => {
    expect(
      successfulRoutes('http_server_request_duration_seconds_sum{http_route="/version"} 1\n# HELP x').size,
    ).to.equal(0)
  })
})
