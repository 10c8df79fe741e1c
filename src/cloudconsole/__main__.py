from cloudconsole.cli.main import main

raise SystemExit(main())
