-- GETs the paths of a file, one a line, in turn; each request is prepared once, so that wrk has little to do.
-- Arguments: the file; `numbered`, where each request of a round has a header that no other has.
local requests, at = {}, 0

function init(args)
  for path in io.lines(args[1]) do
    local headers = args[2] == "numbered" and { ["X-Number"] = tostring(#requests + 1) } or nil
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
