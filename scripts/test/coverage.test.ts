import { expect } from 'chai'
import { successfulRoutes } from './coverage.ts'

const line = (method: string, route: string, status: number) =>
  `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"} 3`

describe('successfulRoutes', () => {
  it('returns the routes with a status below 400', () => {
    const metrics = [
      line('GET', '/version', 200),
      line('POST', '/boundaries', 403),
      line('DELETE', '/boundaries/{boundaryId}', 202),
    ]
    expect([...successfulRoutes(metrics.join('\n'))]).to.deep.equal(['GET /version', 'DELETE /boundaries/{boundaryId}'])
  })

  it('ignores other metrics', () => {
    expect(
      successfulRoutes('http_server_request_duration_seconds_sum{http_route="/version"} 1\n# HELP x').size,
    ).to.equal(0)
  })
})
